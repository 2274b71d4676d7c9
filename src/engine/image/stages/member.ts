// One of the requests that are drawn together: it has a text, a signal and a listener of its own, and ends without the others.

import { EngineError } from '../../../files/error.ts';
import { BindingError } from '../../../gpu/gpu-error.ts';
import type { Prepared } from '../blocks/family.ts';
import { assertWanted, NotFiniteError } from '../recording/compute.ts';
import { contextAsDrawn, type StageContext } from './stage-context.ts';

/** Codes of errors that are those of one request. */
const OWN: ReadonlySet<string> = new Set(['cancelled', 'bad_request', 'unsupported']);

export class Member {
  readonly context: StageContext;
  /** The encoded prompt, once it is. */
  prepared: Prepared | null = null;
  #isOver = false;
  #drawn = 0;

  constructor(context: StageContext) {
    this.context = contextAsDrawn(context);
  }

  /** Whether it has ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  get samples(): number {
    return this.context.resolved.event.values.samples;
  }

  /** Computes something for this request alone, which ends with an error that is its own. */
  async alone(run: () => Promise<void>): Promise<void> {
    if (this.#isOver) return;
    try {
      assertWanted(this.context.signal);
      await run();
    } catch (error) {
      if (!isOwn(error)) throw error;
      this.fail(error);
    }
  }

  fail(error: unknown): void {
    if (!this.#isOver) this.context.ended?.(error);
    this.#isOver = true;
  }

  /** Counts a result that was drawn. */
  drew(): void {
    this.#drawn += 1;
  }

  /** Ends the request if all its results are drawn; after the events of the stage that drew them. */
  endIfDrawn(): void {
    if (this.#isOver || this.#drawn < this.samples) return;
    this.#isOver = true;
    this.context.ended?.(null);
  }
}

function isOwn(error: unknown): boolean {
  if (!(error instanceof EngineError) || error instanceof BindingError) return false;
  return error instanceof NotFiniteError || OWN.has(error.code);
}

/** The context of what requests share: it emits to each request that has not ended, and has no signal, since `Member.alone` looks at that of each. */
export function sharedContext(members: readonly [Member, ...Member[]]): StageContext {
  const [{ context: first }] = members;
  if (members.length === 1) return first;
  const living = (): Member[] => members.filter(({ isOver }) => !isOver);
  return {
    ...first,
    signal: undefined,
    options: {
      ...first.options,
      signal: undefined,
      onNotFinite: (what) => living().forEach(({ context }) => context.options.onNotFinite?.(what)),
    },
    emit: (event) => living().forEach(({ context }) => context.emit(event)),
  };
}

/** A result that is to be drawn. */
export interface Sample {
  of: Member;
  /** Its number among the results of its request. */
  index: number;
}

/** The results of requests that have not ended. */
export const samplesOf = (members: readonly Member[]): Sample[] =>
  members
    .filter(({ isOver }) => !isOver)
    .flatMap((of) => Array.from({ length: of.samples }, (_, index) => ({ of, index })));

/** Divides results, in their order, into batches of at most `size`, whose texts have one shape. */
export function batchesOf(samples: readonly Sample[], size: number): Sample[][] {
  const batches: Sample[][] = [];
  for (const sample of samples) {
    const last = batches.at(-1);
    if (last && last.length < size && shapesOf(last[0]!) === shapesOf(sample)) last.push(sample);
    else batches.push([sample]);
  }
  return batches;
}

const shapesOf = ({ of }: Sample): string =>
  JSON.stringify(of.prepared!.texts.map(({ states, pooled }) => [states.shape, pooled?.shape]));
