// Lists and records in the bodies of requests. zod walks all of a list and keeps an issue for each entry, so that a few megabytes of
// nonsense would hold up every other request, or end the process. These are looked at only where they are no longer than they may
// be, and no further than the first entry that is wrong.

import { z } from 'zod';
import { MOST_MEMBERS } from './json-text.ts';

type Parse = z.core.$ZodType['_zod']['parse'];
type Payload = Parameters<Parse>[0];

/** Token ids of one list, at most: more than the longest context has. */
export const MOST_IDS = 2 ** 20;
/** Messages or items of a conversation, or parts of one, at most. */
export const MOST_TURNS = 2 ** 14;
export const MOST_TOOLS = 1024;

export const tokenId = z.int().min(0);

const isTokenId = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;

interface ListDef extends z.core.$ZodArrayDef {
  most: number;
}

// No list of zod's own ends at its first wrong entry in one pass, however deep lists are nested: this one replaces
// its parse, within what zod/v4/core has for extensions. The version is pinned, and the tests hold what it does.
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
    // A context's worth of ids is gone through in no time, and stays the list it is.
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
      break; // and rules over the whole see nothing of what was not looked at
    }
    payload.value = checked;
    return payload;
  };
});

/** Schema of a list with at most `most` entries. */
export function list<T extends z.ZodType>(element: T, most: number): z.ZodArray<T> {
  // `max` says it in /openapi.json.
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
      // zod passes it over, since setting it on an ordinary object changes what that is.
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
