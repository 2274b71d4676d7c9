// Replies of Ollama's interface, and the lines of its streams.

import { z } from 'zod';
import { OllamaError } from '../http/error-reply-schema.ts';
import { count, texts } from '../http/reply-members.ts';
import { TokenLogprob } from '../text/text-reply-schema.ts';

const nanoseconds = count.describe('Nanoseconds.');

const begin = { model: z.string(), created_at: z.iso.datetime() };
const logprobs = z.array(TokenLogprob).optional();

const end = {
  done: z.literal(true),
  done_reason: z.enum(['stop', 'length', 'abort']),
  total_duration: nanoseconds,
  load_duration: nanoseconds.describe(
    'Nanoseconds before the first step of the prompt: template, grammar, queue.',
  ),
  prompt_eval_count: count,
  prompt_eval_duration: nanoseconds,
  eval_count: count,
  eval_duration: nanoseconds,
};

const thinking = z.string().optional();

const call = z.strictObject({
  id: z.string(),
  function: z.strictObject({ index: count, name: z.string(), arguments: z.record(z.string(), z.unknown()) }),
});

const chatSaid = {
  message: z.strictObject({
    role: z.literal('assistant'),
    content: z.string(),
    thinking,
    tool_calls: z.array(call).optional().describe('Each is whole.'),
  }),
};

const generateSaid = { response: z.string(), thinking };

/** `said`: the schema of the members that carry the text. */
function textReply<Said extends z.ZodRawShape>(said: Said) {
  const whole = z.strictObject({ ...begin, ...said, logprobs, ...end });
  const part = z.strictObject({ ...begin, ...said, logprobs, done: z.literal(false) });
  const loaded = z
    .strictObject({ ...begin, ...said, done: z.literal(true), done_reason: z.enum(['load', 'unload']) })
    .describe('Where nothing was asked.');
  return { reply: z.union([whole, loaded]), event: z.union([part, whole, OllamaError]) };
}

export const { reply: OllamaChat, event: OllamaChatLine } = textReply(chatSaid);
export const { reply: OllamaGenerate, event: OllamaGenerateLine } = textReply(generateSaid);

const vector = z.array(z.number());

export const OllamaEmbed = z.strictObject({
  model: z.string(),
  embeddings: z.array(vector),
  total_duration: nanoseconds,
  load_duration: nanoseconds,
  prompt_eval_count: count,
});

export const OllamaEmbedding = z.strictObject({ embedding: vector });

const details = z.strictObject({
  parent_model: z.literal(''),
  format: z.literal('safetensors'),
  families: z.array(z.string()),
  ...texts('family', 'parameter_size', 'quantization_level'),
});

const entry = {
  ...texts('name', 'model', 'digest'),
  details,
  size: count.describe('Bytes.'),
};
const modifiedAt = { modified_at: z.iso.datetime() };

export const OllamaTags = z.strictObject({ models: z.array(z.strictObject({ ...entry, ...modifiedAt })) });

export const OllamaRunning = z.strictObject({
  models: z.array(
    z.strictObject({
      ...entry,
      size_vram: count.describe('Bytes.'),
      context_length: count,
      expires_at: z.iso.datetime(),
    }),
  ),
});

export const OllamaShow = z.strictObject({
  parameters: z.string().optional().describe('Of sampling, one a line.'),
  details,
  model_info: z.record(z.string(), z.union([z.string(), z.number()])),
  capabilities: z.array(z.enum(['completion', 'vision', 'tools', 'thinking', 'embedding'])),
  ...modifiedAt,
});

export const OllamaDone = z.strictObject({ status: z.literal('success') });

export const OllamaPullLine = z.union([
  z.strictObject({ status: z.string() }),
  z.strictObject({ status: z.string(), digest: z.string(), total: count, completed: count }),
  OllamaError,
]);

export const OllamaVersion = z.strictObject({ version: z.string(), svc_engine: z.string().optional() });
