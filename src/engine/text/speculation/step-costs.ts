// How long decode steps take by their rows, measured while the engine runs. The times only decide how many tokens are drafted: no token
// depends on them.

/** Share of a new measurement in the estimate. */
const WEIGHT = 0.2;
/** A measurement counts as at most so many times the estimate: pauses of the machine are not costs of rows. */
const MOST = 2;
/** Cost of a row beside the first that is assumed before it is measured, as a share of a step of one row. */
const ASSUMED_ROW = 0.04;
/** Steps without drafts after which those with drafts are measured anew: contexts have grown, or a measurement was bad luck. */
const REMEMBERED = 512;

interface Estimate {
  ms: number;
  count: number;
}

export class StepCosts {
  /** By rows: steps that were submitted while another one ran, and steps with drafts, before which all tokens were read. */
  readonly #plain: (Estimate | undefined)[] = [];
  #drafted: (Estimate | undefined)[] = [];
  /** Steps since one with drafts. */
  #sinceDraft = 0;

  /** Notes that a step of so many rows took `ms` milliseconds. */
  note(rows: number, isDrafted: boolean, ms: number): void {
    this.#sinceDraft = isDrafted ? 0 : this.#sinceDraft + 1;
    if (this.#sinceDraft > REMEMBERED) this.#drafted = [];
    const table = isDrafted ? this.#drafted : this.#plain;
    const known = table[rows];
    // The first step of a size may wait for its kernels to be compiled.
    if (!known || known.count === 0) table[rows] = { ms, count: (known?.count ?? -1) + 1 };
    else {
      known.ms += WEIGHT * (Math.min(ms, MOST * known.ms) - known.ms);
      known.count++;
    }
  }

  /** Estimated milliseconds of a step; relative where nothing was measured. */
  of(rows: number, isDrafted: boolean): number {
    const [own, other] = isDrafted ? [this.#drafted, this.#plain] : [this.#plain, this.#drafted];
    return estimated(own, rows) ?? estimated(other, rows) ?? assumed(rows);
  }
}

/** Scales the nearest measured step by the assumption. */
function estimated(table: readonly (Estimate | undefined)[], rows: number): number | null {
  let nearest: number | null = null;
  table.forEach((known, at) => {
    if (known && known.count > 0 && (nearest === null || Math.abs(at - rows) < Math.abs(nearest - rows)))
      nearest = at;
  });
  return nearest === null ? null : (table[nearest]!.ms * assumed(rows)) / assumed(nearest);
}

function assumed(rows: number): number {
  return 1 + ASSUMED_ROW * (rows - 1);
}
