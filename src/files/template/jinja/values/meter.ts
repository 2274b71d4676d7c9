// Limits of one rendering. Every operation that could run long, or allocate much, asks the meter first, so that an endless template
// ends with an error and does not take down the process.

import { EngineError } from '../../../error.ts';

export interface TemplateLimits {
  /** Operations: expressions, statements, elements visited, and characters read (a hundred to a step). */
  steps: number;
  /** UTF-16 units of one string, the output included. */
  length: number;
  /** UTF-16 units of all strings that a rendering makes together. */
  text: number;
  /** Elements of all lists and dicts that a rendering makes together. */
  elements: number;
  /** Calls of macros and recursive loops inside each other. */
  depth: number;
  /** Bits of an integer. */
  bits: number;
  milliseconds: number;
}

/**
 * Limits for a conversation of a request. Templates of published models take about 300 steps per message, so 16,384 messages take 5
 * million; the elements allow a template to slice the list of 16,384 messages at every message (134 million).
 */
export const RENDER_LIMITS: TemplateLimits = {
  steps: 200_000_000,
  length: 2 ** 26,
  text: 2 ** 28,
  elements: 160_000_000,
  depth: 200,
  bits: 2 ** 16,
  milliseconds: 10_000,
};

/** Milliseconds that a rendering may take where other work waits for it. */
export const QUICK_MILLISECONDS = 50;

/** For the small conversations that find out what a template takes when it is opened. */
export const PROBE_LIMITS: TemplateLimits = {
  ...RENDER_LIMITS,
  steps: 2_000_000,
  length: 2 ** 22,
  text: 2 ** 24,
  elements: 2 ** 20,
  milliseconds: 2000,
};

/** For the source of a template. The largest published ones have 40,000 characters and nest 12 deep. */
export const SOURCE_LIMITS = { length: 2 ** 20, depth: 100 };

/** Steps between two checks of the time. */
const CLOCK_STEPS = 16_384;
const READ_PER_STEP = 100;

/**
 * Counts one rendering. Each method throws TemplateLimitError if its limit is exceeded, or if an amount is NaN, which would make
 * every later count NaN.
 */
export class Meter {
  readonly #name: string;
  readonly #limits: TemplateLimits;
  readonly #end: number;
  #steps = 0;
  #nextLook = CLOCK_STEPS;
  #text = 0;
  #elements = 0;
  #depth = 0;

  /** `name`: the template's, for messages. */
  constructor(name: string, limits: TemplateLimits) {
    this.#name = name;
    this.#limits = limits;
    this.#end = performance.now() + limits.milliseconds;
  }

  step(count = 1): void {
    this.#steps += count;
    if (!(this.#steps < this.#nextLook)) this.#look();
  }

  /** Called before `length` UTF-16 units are read. */
  read(length: number): void {
    this.step(1 + length / READ_PER_STEP);
  }

  /** Called before a string of `length` UTF-16 units is created; `copied` of them are new. */
  make(length: number, copied = length): void {
    const { length: most, text } = this.#limits;
    if (!(length <= most)) this.#refuse(`a text of ${shown(most)} characters`);
    this.#text += copied;
    if (!(this.#text <= text)) this.#refuse(`${shown(text)} characters of text in all`);
    this.read(copied);
  }

  /** Called before a list of `count` elements is created. */
  hold(count: number): void {
    const { elements } = this.#limits;
    this.#elements += count;
    if (!(this.#elements <= elements)) this.#refuse(`${shown(elements)} elements of lists`);
    this.step(1 + count / 8);
  }

  /** Called before an integer of `bits` bits is created. */
  widen(bits: number): void {
    const { bits: most } = this.#limits;
    if (!(bits <= most)) this.#refuse(`an integer of ${shown(most)} bits`);
    this.read(bits);
  }

  /** Runs `action` one level deeper. */
  nest<T>(action: () => T): T {
    const { depth } = this.#limits;
    if (++this.#depth > depth) this.#refuse(`${shown(depth)} calls inside each other`);
    try {
      return action();
    } finally {
      this.#depth--;
    }
  }

  #look(): void {
    const { steps, milliseconds } = this.#limits;
    if (!(this.#steps <= steps)) this.#refuse(`${shown(steps)} steps`);
    if (performance.now() > this.#end) this.#refuse(`${shown(Math.ceil(milliseconds / 10) / 100)} seconds`);
    this.#nextLook = Math.min(this.#steps + CLOCK_STEPS, steps + 1);
  }

  #refuse(limit: string): never {
    throw new TemplateLimitError(this.#name, limit);
  }
}

/** A rendering that passed a limit, `unsupported`. */
export class TemplateLimitError extends EngineError {
  /** `name`: the template's name; `limit`: the amount and its unit. */
  constructor(name: string, limit: string) {
    super(
      'unsupported',
      `the chat template ${JSON.stringify(name)} exceeds the limit of ${limit}: put another chat_template.jinja beside the checkpoint's config.json, or send a shorter conversation`,
      { param: 'chat_template' },
    );
  }
}

function shown(count: number): string {
  return count.toLocaleString('en-US');
}
