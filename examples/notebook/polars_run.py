# %% [markdown]
# # A run in Polars
#
# The frames of a run are Parquet files. This reads them, joins them and computes a metric that healbench does not have. Cells
# are marked by `# %%`, as Jupyter and VS Code read them.
#
# `python examples/notebook/polars_run.py RUN` prints what the cells show.

# %%
import sys

import polars as pl

RUN = sys.argv[1] if len(sys.argv) > 1 else "runs/first"
episodes = pl.scan_parquet(f"{RUN}/episodes.parquet")
calls = pl.scan_parquet(f"{RUN}/calls.parquet")

# %% [markdown]
# What each column means is in the files.

# %%
descriptions = {
    key.removeprefix("healbench.column."): text
    for key, text in pl.read_parquet_metadata(f"{RUN}/episodes.parquet").items()
    if key.startswith("healbench.column.")
}
for column in ["outcome", "condition", "schedule_hash"]:
    print(f"{column}: {descriptions[column]}")

# %% [markdown]
# The success rate of each condition. Episodes that were lost to infrastructure are not scored.

# %%
scored = episodes.filter(~pl.col("outcome").is_in(["infra", "config"]))
rates = (
    scored.group_by("agent", "condition")
    .agg(pl.len().alias("episodes"), (pl.col("outcome") == "success").mean().alias("success"))
    .sort("agent", "condition")
    .collect()
)
print(rates)

# %% [markdown]
# A metric of our own: the share of failed calls whose next call in the same episode fails with the same class.

# %%
repeated = (
    calls.sort("episode", "call")
    .with_columns(pl.col("error_class").shift(-1).over("episode").alias("next_class"))
    .filter(pl.col("error_class").is_not_null())
    .join(scored.select("episode", "agent", "condition"), on="episode")
    .group_by("agent", "condition")
    .agg(
        pl.len().alias("failed_calls"),
        (pl.col("error_class") == pl.col("next_class")).fill_null(False).mean().alias("same_error_again"),
    )
    .sort("agent", "condition")
    .collect()
)
print(repeated)
