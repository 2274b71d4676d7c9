// Images, and the events of their stream.

import { z } from 'zod';
import { IMAGE_FORMATS } from '../../index.ts';
import { NamedErrorEvent } from '../http/error-reply-schema.ts';
import { count, counts, seconds, typed } from '../http/reply-members.ts';

export const ImageUsage = z
  .strictObject({
    ...counts('total_tokens', 'input_tokens', 'output_tokens'),
    input_tokens_details: z.strictObject(counts('text_tokens', 'image_tokens')),
  })
  .describe('Tokens as the denoiser counts them.');

const made = { seed: count, revised_prompt: z.string().describe('As it was drawn.') };
const image = { b64_json: z.string(), ...made };
const keptImage = z.strictObject({
  url: z.url().describe('Kept for some time, and less where there are many.'),
  ...made,
});

const about = {
  size: z.string().describe('WIDTHxHEIGHT.'),
  background: z.literal('opaque'),
  output_format: z.enum(IMAGE_FORMATS),
};

const unknownWords = z
  .array(z.string())
  .optional()
  .describe('Words of the prompt that the model never saw, where there are some.');

export const Images = z.strictObject({
  id: z.string(),
  created: seconds,
  ...about,
  data: z.array(z.union([z.strictObject(image), keptImage])),
  unknown_words: unknownWords,
  usage: ImageUsage,
  peak_memory_mb: z.number(),
  inference_time_s: z.number().describe('Without the time in the queue.'),
});

export type Images = z.infer<typeof Images>;

/** `name`: the prefix of its events' types. */
function imageEvent<T extends string>(name: T) {
  const common = { image_index: count, created_at: seconds, quality: z.literal('auto'), ...about };
  const preview = typed(`${name}.partial_image`, {
    b64_json: z.string(),
    partial_image_index: count,
    ...common,
  });
  const completed = typed(`${name}.completed`, {
    ...image,
    usage: ImageUsage,
    unknown_words: unknownWords,
    ...common,
  });
  return z.discriminatedUnion('type', [preview, completed, NamedErrorEvent]);
}

export const ImageGenerationEvent = imageEvent('image_generation');
export const ImageEditEvent = imageEvent('image_edit');
