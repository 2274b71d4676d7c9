// The file of --api-key-file: several keys with names, rights and limits as JSON, or plain keys, one on each line. It is read again when
// it changes, so that keys are given and withdrawn while the server runs.

import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';
import { EngineError } from '../index.ts';
import { countText } from '../files/count-text.ts';
import { badRequest } from '../files/error.ts';
import { RequestError } from './http/errors.ts';
import type { Log } from './http/request-log.ts';
import type { Caller } from './service/caller.ts';
import { KeyLimits } from './service/key-limits.ts';

/** Milliseconds between two looks at the file. */
const LOOK_TIME = 1000;

const bound = z.int().min(1);
const KEY = z.strictObject({
  name: z.string().min(1).max(64),
  key: z.string().min(1).optional(),
  sha256: z
    .string()
    .regex(/^[\da-f]{64}$/i, 'must be 64 hexadecimal digits')
    .optional(),
  admin: z.boolean().default(false),
  models: z.array(z.string().min(1)).min(1).optional(),
  requests_per_minute: bound.optional(),
  tokens_per_minute: bound.optional(),
  max_running: bound.optional(),
  expires: z.union([z.iso.datetime({ offset: true }), z.iso.date()]).optional(),
});
const FILE = z.strictObject({ keys: z.array(KEY).min(1) });

/** Names of the keys of --api-key and --admin-api-key. */
const OWN_NAMES = new Set(['api-key', 'admin-api-key']);

type KeyEntry = z.infer<typeof KEY>;

interface FileKey {
  caller: Caller;
  /** Milliseconds since 1970; Infinity: never. */
  expires: number;
}

/** Keys of a file by the SHA-256 of each. */
type KeyTable = ReadonlyMap<string, FileKey>;

export const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex');

/** Throws EngineError bad_request with the place of what is wrong. */
export function parseKeys(text: string, path: string): KeyTable {
  const entries = /^\s*\{/.test(text) ? parseJson(text, path) : parseLines(text, path);
  const table = new Map<string, FileKey>();
  const names = new Set<string>();
  for (const entry of entries) {
    const hash = entry.sha256?.toLowerCase() ?? hashOf(entry.key!);
    if (OWN_NAMES.has(entry.name))
      throw wrong(path, `${entry.name} is the name of the key of an option; choose another`);
    if (names.has(entry.name)) throw wrong(path, `two keys are called ${entry.name}; give each its own name`);
    if (table.has(hash)) throw wrong(path, `${entry.name} has the key of another entry; give each its own`);
    names.add(entry.name);
    table.set(hash, toFileKey(entry));
  }
  return table;
}

function parseJson(text: string, path: string): KeyEntry[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw wrong(path, `it is not JSON${placeIn(text, error)}`);
  }
  const { data, error } = FILE.safeParse(value);
  const issue = error?.issues[0];
  if (issue) throw wrong(path, `${issue.path.join('.') || 'the object'}: ${issue.message}`);
  for (const { name, key, sha256 } of data!.keys)
    if ((key === undefined) === (sha256 === undefined))
      throw wrong(path, `${name} needs one of key and sha256, the hash of the key`);
  return data!.keys;
}

/** Where a text ceases to be JSON, without the text itself, which holds keys. */
function placeIn(text: string, error: unknown): string {
  const position = /position (\d+)/.exec(String(error))?.[1];
  return position === undefined ? '' : ` at line ${text.slice(0, Number(position)).split('\n').length}`;
}

/** Lines of keys; empty ones, and those that begin with #, are skipped. */
function parseLines(text: string, path: string): KeyEntry[] {
  const keys = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (keys.length === 0) throw wrong(path, 'it has no key; write one on a line, or {"keys": [...]}');
  return keys.map((key) => ({ name: `key-${hashOf(key).slice(0, 8)}`, key, admin: false }));
}

function toFileKey({ name, admin, models, expires, ...limits }: KeyEntry): FileKey {
  const bounds = {
    ...(limits.requests_per_minute !== undefined && { requestsPerMinute: limits.requests_per_minute }),
    ...(limits.tokens_per_minute !== undefined && { tokensPerMinute: limits.tokens_per_minute }),
    ...(limits.max_running !== undefined && { maxRunning: limits.max_running }),
  };
  const hasBounds = Object.keys(bounds).length > 0;
  return {
    caller: { name, admin, models: models ?? null, limits: hasBounds ? new KeyLimits(name, bounds) : null },
    expires: expires === undefined ? Infinity : Date.parse(expires),
  };
}

const wrong = (path: string, what: string): EngineError =>
  badRequest(`the keys in ${path} cannot be used: ${what}`);

/** The keys of a file. */
export class ApiKeys {
  readonly #path: string;
  readonly #log: Log;
  #table: KeyTable;
  #changed: number;
  #looked = performance.now();

  /** Throws EngineError bad_request where the file cannot be read or is wrong. */
  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
    this.#changed = changeOf(path);
    this.#table = readKeys(path);
  }

  /** The caller with a key; null: there is none. Throws RequestError for a key that has expired. */
  find(key: string): Caller | null {
    this.#look();
    const found = this.#table.get(hashOf(key));
    if (!found) return null;
    if (found.expires > Date.now()) return found.caller;
    const { name } = found.caller;
    throw new RequestError('invalid_api_key', `the key ${name} has expired; ask for another one`);
  }

  /** The caller with a key of this name; null: there is none any more, or the key has expired. */
  named(name: string): Caller | null {
    this.#look();
    const found = [...this.#table.values()].find(({ caller }) => caller.name === name);
    return found && found.expires > Date.now() ? found.caller : null;
  }

  /** Reads a changed file; one that is wrong leaves the keys as they were. Keys that are still there keep what they have used. */
  #look(): void {
    if (performance.now() - this.#looked < LOOK_TIME) return;
    this.#looked = performance.now();
    try {
      const changed = changeOf(this.#path);
      if (changed === this.#changed) return;
      this.#changed = changed;
      const before = this.#table;
      const table = readKeys(this.#path);
      this.#table = new Map([...table].map(([hash, now]) => [hash, sameUse(before.get(hash), now)]));
      this.#log.info(`${this.#path} has changed: ${countText(table.size, 'key')}.`);
    } catch (error) {
      this.#log.error(`${String(error)}. The keys stay as they were.`);
    }
  }
}

function sameUse(before: FileKey | undefined, now: FileKey): FileKey {
  const { limits } = now.caller;
  if (!limits || !before?.caller.limits) return now;
  limits.continueFrom(before.caller.limits);
  return now;
}

/** Time of the last change of a file in milliseconds. */
function changeOf(path: string): number {
  try {
    return statSync(path).mtimeMs;
  } catch (error) {
    throw wrong(path, `it cannot be read (${String(error)})`);
  }
}

function readKeys(path: string): KeyTable {
  try {
    return parseKeys(readFileSync(path, 'utf8'), path);
  } catch (error) {
    throw error instanceof EngineError ? error : wrong(path, `it cannot be read (${String(error)})`);
  }
}
