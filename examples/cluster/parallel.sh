#!/usr/bin/env bash
# A sweep as shards under GNU parallel: parallel.sh PLAN RESULTS SHARDS [OPTIONS OF PARALLEL]. On several hosts that share the
# working directory: parallel.sh plan.toml results.parquet 40 --sshlogin 4/alice,4/bob --workdir .
set -euo pipefail
plan=$1 results=$2 shards=$3
shift 3

# A shard that fails is run three times in all; its finished cells stay. When one has failed, the others still run.
seq "$shards" | parallel --quote --retries 3 "$@" \
  tmt --jobs 1 sweep "$plan" --shard "{}/$shards" --output "$results"
tmt sweep "$plan" --output "$results" --resume
