// Schemas of lists and records with a bound on their length. zod checks every entry of a list and keeps an issue for each, so that
// a few megabytes of wrong entries would block the event loop or exhaust the memory. These schemas check the length first and stop
// at the first wrong entry.

import { z } from 'zod';
import { MOST_MEMBERS } from './json-text.ts';

type Parse = z.core.$ZodType['_zod']['parse'];
type Payload = Parameters<Parse>[0];

/** Limit on the token ids in one list: more than the longest context has. */
export const MOST_IDS = 2 ** 20;
/** Limit on the messages or items of a conversation, and on the parts of a message. */
export const MOST_TURNS = 2 ** 14;
export const MOST_TOOLS = 1024;

export const tokenId = z.int().min(0);
/** A text that is not empty. */
export const filled = z.string().min(1);
/** A member without effect. */
export const silent = z.unknown().optional();

const isTokenId = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

interface ListDef extends z.core.$ZodArrayDef {
  most: number;
}

// zod's own list cannot stop at its first wrong entry in one pass at every depth of nesting. This class replaces its parse function
// through the extension points of zod/v4/core; the version is pinned, and tests check the behaviour.
const List = z.core.$constructor<z.ZodArray, ListDef>('BoundedList', (inst, def) => {
  z.ZodArray.init(inst, def);
  const { _zod: internals } = inst;
  const { _zod: element } = def.element;
  const { most } = def;
  internals.parse = (payload, context) => {
    const entries: unknown = payload.value;
    if (!Array.isArray(entries)) return refuse(payload, { code: 'invalid_type', expected: 'array', inst });
    if (entries.length > most)
      return refuse(payload, { code: 'too_big', origin: 'array', maximum: most, inclusive: true, inst });
    // A list of token ids is checked by one loop without calling zod, and is not copied.
    const from = def.element === tokenId ? entries.findIndex((entry) => !isTokenId(entry)) : 0;
    if (from < 0) return payload;
    const checked: unknown[] = entries.slice(0, from);
    for (let at = from; at < entries.length; at++) {
      const found = element.run({ value: entries[at], issues: [] }, context);
      if (found instanceof Promise) throw new z.core.$ZodAsyncError();
      checked.push(found.value);
      const [issue] = found.issues;
      if (!issue) continue;
      payload.issues.push({ ...issue, path: [at, ...(issue.path ?? [])] });
      break; // Refinements of the whole list must not see entries that were not checked.
    }
    payload.value = checked;
    return payload;
  };
});

/** Schema of a list with at most `most` entries. */
export function list<T extends z.ZodType>(element: T, most: number): z.ZodArray<T> {
  // `max` states the bound in /openapi.json.
  return new List({ type: 'array', element, most }).max(most) as unknown as z.ZodArray<T>;
}

const NO_NAME = 'is a name that no entry can have here; leave it out';

/** Schema of an object with arbitrary names and at most `most` members. */
export function record<T extends z.ZodType>(
  value: T,
  { names = z.string(), most = MOST_MEMBERS }: { names?: z.ZodString; most?: number } = {},
) {
  const checked = z.preprocess(
    (given, { addIssue }) => {
      const found = typeof given === 'object' && given !== null ? Object.keys(given) : [];
      if (found.length > most) addIssue({ code: 'custom', message: `must have at most ${most} entries` });
      // zod skips a `__proto__` member, because assigning it to an ordinary object would change the object's prototype.
      else if (found.includes('__proto__'))
        addIssue({ code: 'custom', message: NO_NAME, path: ['__proto__'] });
      return given;
    },
    z.record(names, value),
  );
  return checked.meta({ maxProperties: most });
}

type Refusal = Omit<z.core.$ZodRawIssue, 'input'>;

function refuse(payload: Payload, issue: Refusal): Payload {
  payload.issues.push({ ...issue, input: payload.value, continue: false } as z.core.$ZodRawIssue);
  return payload;
}

export type TokenInput = string | number[];

const ids = list(tokenId, MOST_IDS).min(1);

/** `most`: limit on the texts or lists of ids. All entries are of one kind. */
export const tokenInputs = (most: number) =>
  z.union([filled, ids, list(filled, most).min(1), list(ids, most).min(1)]);

export type TokenInputs = z.infer<ReturnType<typeof tokenInputs>>;

/** Whether the input is one text, not a list of texts. */
export const isOneInput = (input: TokenInputs): boolean =>
  typeof input === 'string' || typeof input[0] === 'number';

export function listInputs(input: TokenInputs): TokenInput[] {
  if (typeof input === 'string') return [input];
  return typeof input[0] === 'number' ? [input as number[]] : (input as TokenInput[]);
}
