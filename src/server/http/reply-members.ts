// Members that replies of several routes have.

import { z } from 'zod';

export const count = z.int().min(0);
export const seconds = count.describe('Seconds since 1970.');

const membersOf = <N extends string, S extends z.ZodType>(schema: S, names: N[]) =>
  Object.fromEntries(names.map((name) => [name, schema])) as Record<N, S>;

/** Members that are counts. */
export const counts = <N extends string>(...names: N[]) => membersOf(count, names);

/** Members that are texts. */
export const texts = <N extends string>(...names: N[]) => membersOf(z.string(), names);

/** A page of a list, of entries with ids. */
export const pageSchema = <Entry extends z.ZodType>(entry: Entry) =>
  z.strictObject({
    object: z.literal('list'),
    data: z.array(entry),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  });

/** An object that its type tells from others. */
export const typed = <T extends string, Shape extends z.ZodRawShape>(type: T, shape: Shape) =>
  z.strictObject({ type: z.literal(type), ...shape });

/** First members of a reply and of every chunk of its stream. */
export const head = <T extends string>(object: T) => ({
  id: z.string(),
  object: z.literal(object),
  created: seconds,
  model: z.string().describe('As the request named it.'),
  system_fingerprint: z.string(),
});

const ids = z.array(count).optional();

/** Members for return_token_ids. */
export const tokenIds = { token_ids: ids, prompt_token_ids: ids };

export const matchedStop = z
  .union([z.int(), z.string()])
  .nullable()
  .describe('The stop string, or the token id, that ended it.');

export const hiddenStates = z
  .union([z.array(z.number()), z.array(z.array(z.number()))])
  .optional()
  .describe('Of return_hidden_states: of the last token, or of each.');

export const calledFunction = z.strictObject({
  name: z.string(),
  arguments: z.string().describe('JSON; cut short where the reply is.'),
});

/** Tokens of the prompt that stand for media, of the kinds that it has. */
export const mediaUsage = {
  image_tokens: count.optional(),
  video_tokens: count.optional(),
  audio_tokens: count.optional(),
};

export type MediaUsage = Partial<Record<keyof typeof mediaUsage, number>>;
