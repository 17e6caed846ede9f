#!/usr/bin/env bash
# bash benchmarks/gpu/run.sh a|b|c [--tiny]: results in $OUT (default ./out), at most 8 files of 16 MiB.
set -u
cd "$(dirname "$0")/../.."
export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}" HF_HUB_OFFLINE=1 PYTHONUNBUFFERED=1 TOKENIZERS_PARALLELISM=true
exec "${PYTHON:-python3}" -m benchmarks.gpu "$@" --out "${OUT:-out}"
