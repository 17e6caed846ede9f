// The WebAssembly module hsd-viz.wasm: its calls, memory, structures and clock.
import type { Manifest } from "./manifest";

/** Thrown when the module has aborted and accepts no further calls. */
export class ModuleEnded extends Error {}
/** Thrown when an allocation fails; what was loaded remains usable. */
export class OutOfMemory extends Error {
  constructor() {
    super("There is too little memory for the runtime: close other tabs and reload the page.");
  }
}
type Fields = Record<string, number | bigint>;
type Call = (...args: (number | bigint)[]) => number;

/** Size of the message buffer of hsd_error() in bytes, with the final 0. */
const MAX_REASON = 200;
const SIZES: Record<string, number> = { i32: 4, pointer: 4, i64: 8, u64: 8, f64: 8 };

/**
 * An instance of the module. Addresses are numbers. Views of the memory must not be kept, since the
 * memory grows.
 */
export class Module {
  private readonly exports: Record<string, unknown>;
  /** Reason for which the module has aborted; null: it is usable. */
  private end: Error | null = null;

  private constructor(
    instance: WebAssembly.Instance,
    private readonly manifest: Manifest,
  ) {
    this.exports = instance.exports;
    (this.exports._initialize as () => void)();
  }

  /** Compile and start the module. Throws a one-line error if the browser cannot run it. */
  static async open(bytes: Uint8Array<ArrayBuffer>, manifest: Manifest): Promise<Module> {
    if (typeof WebAssembly !== "object" || !WebAssembly.validate(bytes))
      throw new Error(
        "This browser has no WebAssembly with SIMD: use a current Chrome, Edge, Firefox or Safari.",
      );
    let module: Module;
    const clock = (_id: number, _precision: bigint, to: number) => {
      module.view().setBigUint64(to, BigInt(Math.round(performance.now() * 1e6)), true);
      return 0;
    };
    // The C++ runtime writes only before it aborts.
    const wasi = { clock_time_get: clock, fd_close: () => 8, fd_seek: () => 8, fd_write: () => 8 };
    const { instance } = await WebAssembly.instantiate(bytes, { wasi_snapshot_preview1: wasi });
    module = new Module(instance, manifest);
    return module;
  }

  get bytes(): number {
    return (this.exports.memory as WebAssembly.Memory).buffer.byteLength;
  }
  view(): DataView {
    return new DataView((this.exports.memory as WebAssembly.Memory).buffer);
  }
  array<T>(
    Kind: new (buffer: ArrayBuffer, at: number, length: number) => T,
    at: number,
    length: number,
  ): T {
    return new Kind((this.exports.memory as WebAssembly.Memory).buffer as ArrayBuffer, at, length);
  }

  /** Call a function that returns 0 or a null handle on failure; throw an error if it does. */
  make(name: string, ...args: (number | bigint)[]): number {
    const result = this.call(name, ...args);
    if (result) return result;
    const reason = this.takeReason();
    throw reason ? new Error(reason) : new OutOfMemory();
  }
  /** Call a function. The module aborts if an allocation fails or an argument is invalid. */
  call(name: string, ...args: (number | bigint)[]): number {
    if (this.end) throw this.end;
    try {
      return (this.exports[name] as Call)(...args);
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      this.end = this.endOf(error);
      throw this.end;
    }
  }
  /** Return why the module has aborted. Without a message of the module, memory ran out. */
  private endOf({ message }: WebAssembly.RuntimeError): Error {
    const isAbort = /unreachable/i.test(message);
    const reason = this.takeReason() || (isAbort ? "" : message);
    return reason ? new ModuleEnded(`The runtime ended: ${reason}`) : new OutOfMemory();
  }
  /** Take the message from hsd_error(); "": no message, as when memory ran out. */
  private takeReason(): string {
    const at = (this.exports.hsd_error as Call)();
    const bytes = this.array(Uint8Array, at, MAX_REASON);
    const reason = new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
    bytes[0] = 0;
    return reason === "memory" ? "" : reason;
  }

  allocate(bytes: number): number {
    return this.make("malloc", Math.max(bytes, 1));
  }
  free(address: number) {
    this.call("free", address);
  }
  /** Copy bytes to newly allocated memory and return its address. */
  put(content: ArrayBufferView): number {
    const at = this.allocate(content.byteLength);
    const from = new Uint8Array(content.buffer, content.byteOffset, content.byteLength);
    this.array(Uint8Array, at, from.length).set(from);
    return at;
  }
  /**
   * Write an array of structures in the layout of C++, with fields aligned to their size, and
   * return its address.
   */
  structures(kind: string, rows: Fields[]): number {
    const layout = this.layout(kind);
    const at = this.allocate(layout.size * rows.length);
    const view = this.view();
    rows.forEach((row, k) => {
      for (const [name, type, offset] of layout.fields) {
        const to = at + k * layout.size + offset;
        if (type === "f64") view.setFloat64(to, Number(row[name]), true);
        else if (SIZES[type] === 8) view.setBigInt64(to, BigInt(row[name]), true);
        else view.setInt32(to, Number(row[name]), true);
      }
    });
    return at;
  }

  private layout(kind: string) {
    const fields: [name: string, type: string, offset: number][] = [];
    let end = 0;
    for (const [name, type] of this.manifest.structures[kind]) {
      const at = Math.ceil(end / SIZES[type]) * SIZES[type];
      fields.push([name, type, at]);
      end = at + SIZES[type];
    }
    return { fields, size: Math.ceil(end / 8) * 8 };
  }
}

/** Buffers of the arguments of calls; the module copies what it keeps beyond a call. */
export class LentBuffers {
  private readonly addresses: number[] = [];

  constructor(private readonly module: Pick<Module, "allocate" | "free" | "put" | "structures">) {}

  allocate(bytes: number): number {
    return this.add(this.module.allocate(bytes));
  }
  put(content: ArrayBufferView): number {
    return this.add(this.module.put(content));
  }
  structure(kind: string, fields: Fields): number {
    return this.structures(kind, [fields]);
  }
  structures(kind: string, rows: Fields[]): number {
    return this.add(this.module.structures(kind, rows));
  }
  free() {
    for (const address of this.addresses.splice(0)) this.module.free(address);
  }

  private add(address: number): number {
    this.addresses.push(address);
    return address;
  }
}

/** Call `use` with buffers for arguments, and free them when it returns or throws. */
export function withBuffers<T>(module: Module, use: (buffers: LentBuffers) => T): T {
  const buffers = new LentBuffers(module);
  try {
    return use(buffers);
  } finally {
    buffers.free();
  }
}
