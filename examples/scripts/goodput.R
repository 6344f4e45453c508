#!/usr/bin/env Rscript
# Goodput by scheme and congestion control with 95 % intervals, from the Parquet that pandas_goodput.py, or
# `tmt sweep -o goodput.parquet`, writes. Needs the package arrow: install.packages("arrow")
# Usage: Rscript goodput.R [FILE]

library(arrow)

arguments <- commandArgs(trailingOnly = TRUE)
path <- if (length(arguments) > 0) arguments[1] else "goodput.parquet"
results <- as.data.frame(read_parquet(path))
# A row per run and flow: the first flow of each run, whose total_ columns are of all its flows. Cells that were refused have
# none.
runs <- results[!is.na(results$flow) & results$flow == 0, ]
runs$goodput_kbps <- runs$total_goodput_bps / 1e3

# The columns of what does not vary may be missing.
by <- intersect(c("scheme", "cc"), names(runs))
interval <- function(kbps) {
  half <- qt(0.975, length(kbps) - 1) * sd(kbps) / sqrt(length(kbps))
  c(mean = mean(kbps), ci95 = half, traces = length(kbps))
}
print(aggregate(runs["goodput_kbps"], runs[by], interval), digits = 5)

# Timelines and traces are Arrow or Parquet, too: times and delays in ns, missing where nothing was delivered.
#   timeline <- as.data.frame(read_ipc_file("timeline.arrow"))
#   quantile(as.numeric(timeline$decode_delay_ns) / 1e6, c(0.5, 0.99), na.rm = TRUE)
