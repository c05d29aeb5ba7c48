# %% [markdown]
# # A run in DuckDB
#
# The same questions as in `polars_run.py`, in SQL. `python examples/notebook/duckdb_run.py RUN` prints the answers.

# %%
import sys

import duckdb

RUN = sys.argv[1] if len(sys.argv) > 1 else "runs/first"
database = duckdb.connect()
for frame in ["episodes", "calls"]:
    database.from_parquet(f"{RUN}/{frame}.parquet").create_view(frame)

# %% [markdown]
# What the columns mean.

# %%
print(
    database.execute(
        """
        SELECT replace(decode(key), 'healbench.column.', '') AS "column", decode(value) AS meaning
        FROM parquet_kv_metadata(?)
        WHERE decode(key) IN ('healbench.column.outcome', 'healbench.column.condition')
        ORDER BY 1
        """,
        [f"{RUN}/episodes.parquet"],
    ).fetchall()
)

# %% [markdown]
# The success rate of each condition.

# %%
for row in database.execute(
    """
    SELECT agent, condition, count(*) AS episodes, avg((outcome = 'success')::INT) AS success
    FROM episodes
    WHERE outcome NOT IN ('infra', 'config')
    GROUP BY ALL
    ORDER BY ALL
    """
).fetchall():
    print(*row)

# %% [markdown]
# The share of failed calls whose next call fails with the same class.

# %%
for row in database.execute(
    """
    WITH ordered AS (
        SELECT *, lead(error_class) OVER (PARTITION BY episode ORDER BY call) AS next_class FROM calls
    )
    SELECT agent, condition, count(*) AS failed_calls, avg(coalesce(error_class = next_class, false)::INT) AS same_again
    FROM ordered JOIN episodes USING (episode)
    WHERE error_class IS NOT NULL AND outcome NOT IN ('infra', 'config')
    GROUP BY ALL
    ORDER BY ALL
    """
).fetchall():
    print(*row)
