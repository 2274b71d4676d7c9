// Drafts of a draft model. After each step it is told the states that the step computed, and guesses tokens for the sequences whose drafts may pay; the
// next step is planned then.

import type { RunnerDrafts, DraftPart } from '../../step/runner-drafts.ts';
import { Acceptance } from '../acceptance.ts';
import type { Drafter, DraftSource, Proposal, ToldPart } from '../drafter.ts';

/** Chance of a guess before any was compared. */
const ASSUMED = 0.6;
/** Least chance with which a token of a draft is reached. */
const LEAST_CHANCE = 0.15;
/** Guesses that were not taken after which the model guesses nothing for so many steps. */
const MOST_UNUSED = 4;
const REST = 32;

interface Followed {
  readonly acceptance: Acceptance;
  ids: readonly number[];
  /** Known tokens behind which the guesses come. */
  known: number;
  /** Guesses that no step computed, one after the other. */
  unused: number;
  /** Steps until it guesses again. */
  rest: number;
}

export class ModelDrafter implements Drafter {
  readonly isSequential = true;
  readonly #sequences = new WeakMap<DraftSource, Followed>();
  /** In all sequences, which a new one begins with. */
  readonly #overall = new Acceptance(ASSUMED);

  /** Tells the model what the last step computed. `most`: tokens to guess for each sequence at most; 0: no step has room for drafts now. */
  async prepare(told: readonly ToldPart[], drafts: RunnerDrafts, most: number): Promise<void> {
    const parts = told.filter(({ sequence, rows }) => sequence.request.speculative && rows > 0);
    const followed = parts.map(({ sequence }) => this.#follow(sequence));
    const asked = parts.map((part, i) => draftPart(part, countFor(followed[i]!, most)));
    const guesses = parts.length > 0 ? await drafts.propose(asked) : [];
    parts.forEach(({ sequence }, i) => {
      followed[i]!.ids = guesses[i]!;
      followed[i]!.known = sequence.progress.ids.length;
    });
  }

  propose(sequence: DraftSource, most: number): Proposal | null {
    const followed = this.#sequences.get(sequence);
    if (!followed || followed.known !== sequence.progress.ids.length || followed.ids.length === 0)
      return null;
    const ids = followed.ids.slice(0, most);
    return { ids, chances: ids.map(() => followed.acceptance.chance) };
  }

  verified(sequence: DraftSource, proposed: number, accepted: number): void {
    const followed = this.#follow(sequence);
    followed.unused = 0;
    for (let i = 0; i < Math.min(proposed, accepted + 1); i++)
      for (const one of [followed.acceptance, this.#overall]) one.add(i < accepted);
  }

  #follow(sequence: DraftSource): Followed {
    let followed = this.#sequences.get(sequence);
    if (followed) return followed;
    followed = { acceptance: new Acceptance(this.#overall.chance), ids: [], known: 0, unused: 0, rest: 0 };
    this.#sequences.set(sequence, followed);
    return followed;
  }
}

/** Tokens to guess: as many as are likely enough to be reached; none for a while where guesses are not taken. */
function countFor(followed: Followed, most: number): number {
  if (most === 0) return 0;
  if (followed.rest > 0) {
    followed.rest--;
    return 0;
  }
  if (followed.ids.length > 0 && ++followed.unused > MOST_UNUSED) {
    followed.unused = 0;
    followed.rest = REST;
  }
  const { chance } = followed.acceptance;
  return Math.max(1, Math.min(most, Math.floor(Math.log(LEAST_CHANCE) / Math.log(Math.min(chance, 0.99)))));
}

function draftPart({ sequence, ...part }: ToldPart, drafts: number): DraftPart {
  const { progress, placement, request } = sequence;
  const { ids, promptTokens } = progress;
  // A token that was sampled and dropped is not known.
  const rows = Math.min(part.rows, ids.length - 1 - part.first);
  return {
    ...{ row: part.row, first: part.first, rows, ids, tables: placement.tables, drafts },
    passedPages: placement.passedPages,
    lengthAt: (token) => Math.max(promptTokens, token + 1),
    ...(request.media && { place: request.media.place }),
  };
}
