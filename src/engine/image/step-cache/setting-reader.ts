// Reads settings of a step cache by key, each once: what is left over is unknown.

import { badRequest, type EngineError } from '../../../files/error.ts';
import { option, say } from '../../../files/message.ts';

export class SettingReader {
  readonly #values: Map<string, unknown>;
  readonly #asked = new Set<string>();

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = new Map(Object.entries(values).filter(([, value]) => value !== undefined));
  }

  /** Whether no value is left. */
  get isEmpty(): boolean {
    return this.#values.size === 0;
  }

  any(key: string): unknown {
    this.#asked.add(key);
    const value = this.#values.get(key);
    this.#values.delete(key);
    return value;
  }

  /** Takes values that follow from the request or the model. */
  skip(...keys: string[]): void {
    for (const key of keys) this.any(key);
  }

  text(key: string): string | undefined {
    return this.#read(key, 'a name', (value): value is string => typeof value === 'string');
  }

  flag(key: string): boolean | undefined {
    return this.#read(key, 'true or false', (value): value is boolean => typeof value === 'boolean');
  }

  choice<T extends string>(key: string, choices: readonly T[]): T | undefined {
    return this.#read(key, choices.join(' or '), (value): value is T =>
      (choices as readonly unknown[]).includes(value),
    );
  }

  number(key: string, least: number, most = Infinity): number | undefined {
    const wanted = most === Infinity ? `a number from ${least} on` : `a number from ${least} to ${most}`;
    return this.#read(
      key,
      wanted,
      (value): value is number => typeof value === 'number' && value >= least && value <= most,
    );
  }

  whole(key: string, least: number, most = Infinity): number | undefined {
    const wanted =
      most === Infinity ? `a whole number from ${least} on` : `a whole number from ${least} to ${most}`;
    return this.#read(
      key,
      wanted,
      (value): value is number => isWhole(value) && value >= least && value <= most,
    );
  }

  numbers(key: string): number[] | undefined {
    const fits = (value: unknown): value is number[] =>
      Array.isArray(value) && value.length > 0 && value.every((one) => Number.isFinite(one));
    return this.#read(key, 'a list of numbers', fits);
  }

  wholes(key: string): number[] | undefined {
    const fits = (value: unknown): value is number[] =>
      Array.isArray(value) && value.length > 0 && value.every((one) => isWhole(one) && one >= 0);
    return this.#read(key, 'a list of whole numbers', fits);
  }

  /** Two shares of the steps, the first below the second; null: none are given. */
  shares(key: string): readonly [number, number] | null {
    const fits = (value: unknown): value is [number, number] => {
      if (!Array.isArray(value) || value.length !== 2) return false;
      const [start, stop] = value as unknown[];
      return typeof start === 'number' && typeof stop === 'number' && 0 <= start && start < stop && stop <= 1;
    };
    return this.#read(key, 'two shares of the steps, as [0.1, 0.8]', fits) ?? null;
  }

  /** Throws bad_request for a key that nothing has asked for. */
  end(): void {
    const [unknown] = this.#values.keys();
    if (unknown === undefined) return;
    throw badRequest(
      say`${option('cacheDitConfig')} has ${JSON.stringify(unknown)}; with its other keys it may have ${[...this.#asked].join(', ')}`,
      'cacheDitConfig',
    );
  }

  error(key: string, value: unknown, remedy: string): EngineError {
    return badRequest(
      say`${option('cacheDitConfig')} has ${key} ${JSON.stringify(value)}: ${remedy}`,
      'cacheDitConfig',
    );
  }

  #read<T>(key: string, wanted: string, fits: (value: unknown) => value is T): T | undefined {
    const value = this.any(key);
    if (value === undefined || value === null) return undefined;
    if (!fits(value)) throw this.error(key, value, `give ${wanted}`);
    return value;
  }
}

const isWhole = (value: unknown): value is number => Number.isInteger(value);
