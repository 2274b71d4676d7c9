// The metadata of a GGUF file by key, with errors that name file and key. Keys of a model begin with its architecture.

import { badCheckpoint, type EngineError, unsupported } from '../error.ts';
import type { GgufFile } from './gguf.ts';
import type { GgufValue } from './values.ts';

export class GgufKeys {
  /** File name, for messages. */
  readonly file: string;
  readonly #metadata: GgufFile['metadata'];

  constructor({ name, metadata }: Pick<GgufFile, 'name' | 'metadata'>) {
    this.file = name;
    this.#metadata = metadata;
  }

  /** undefined: there is no such key. */
  get(key: string): GgufValue | undefined {
    return this.#metadata.get(key);
  }

  names(): string[] {
    return [...this.#metadata.keys()];
  }

  /** A whole number that is not negative. Throws where there is none and no fallback. */
  count(key: string, fallback?: number): number {
    const value = this.get(key) ?? fallback;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
    throw this.wrong(key, 'a whole number');
  }

  real(key: string, fallback?: number): number {
    const value = this.get(key);
    if (value === undefined && fallback !== undefined) return fallback;
    if (typeof value === 'number' && Number.isFinite(value)) return shortest(value);
    throw this.wrong(key, 'a number');
  }

  text(key: string, fallback?: string): string {
    const value = this.get(key) ?? fallback;
    if (typeof value === 'string') return value;
    throw this.wrong(key, 'a text');
  }

  flag(key: string, fallback: boolean): boolean {
    const value = this.get(key) ?? fallback;
    if (typeof value === 'boolean') return value;
    throw this.wrong(key, 'true or false');
  }

  /** null: there is no such key. */
  texts(key: string): readonly string[] | null {
    const value = this.get(key);
    if (value === undefined) return null;
    if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
    throw this.wrong(key, 'a list of texts');
  }

  /** null: there is no such key. */
  numbers(key: string): ArrayLike<number> | null {
    const value = this.get(key);
    if (value === undefined) return null;
    const isNumbers =
      ArrayBuffer.isView(value) && !(value instanceof BigInt64Array) && !(value instanceof BigUint64Array);
    if (isNumbers) return value;
    throw this.wrong(key, 'a list of numbers');
  }

  wrong(key: string, needed: string): EngineError {
    return badCheckpoint(
      `${this.file}: ${key} is ${shownValue(this.get(key))}, ${needed} is needed: fetch the file again, or convert the model again`,
      key,
    );
  }

  unsupported(key: string, known: string): EngineError {
    return unsupported(`${this.file}: ${key} ${shownValue(this.get(key))} is not built; ${known}`, key);
  }
}

/** The shortest decimal number that a float32 stands for: 0.95 is stored as 0.949999988. */
function shortest(value: number): number {
  if (Math.fround(value) !== value) return value;
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return value;
}

function shownValue(value: GgufValue | undefined): string {
  if (value === undefined) return 'missing';
  if (typeof value === 'object') return `a list of ${value.length}`;
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
