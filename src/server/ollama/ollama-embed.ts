// POST /api/embed and the older /api/embeddings: Ollama's interfaces to embeddings.

import { type EmbeddingModel, MODEL_KINDS } from '../../index.ts';
import { underNamesLater } from '../body/renamed.ts';
import { listInputs, type TokenInput } from '../body/bounded.ts';
import { bodyRoute } from '../service/route.ts';
import { type Asking, useModel } from '../service/use-model.ts';
import { embed } from '../tokens/embeddings.ts';
import { keepAliveOf } from './keep-alive.ts';
import { OLLAMA, OLLAMA_ENDPOINTS, EMBED_FIELDS, ONE_EMBEDDING_FIELDS } from './ollama-schema.ts';

export const EMBED = bodyRoute(
  {
    summary: 'Embeddings of texts; `dimensions`, `base64`.',
    ...OLLAMA,
    fields: EMBED_FIELDS,
    required: ['model', 'input'],
    reply: 'OllamaEmbed',
  },
  async ({ service, event, body }) => {
    const startedAt = event.context.call?.startedAt ?? performance.now();
    const model = await embeddingModel({ service, event }, body);
    const { dimensions, truncate = true } = body;
    const texts = listInputs(body.input);
    const inputs = truncate ? await Promise.all(texts.map((text) => cut(text, model))) : texts;
    const begin = performance.now();
    const request = { inputs, ...(dimensions !== undefined && { dimensions }) };
    const { vectors, tokens } = await embed(service, event, model, request, body.input);
    return {
      model: body.model,
      embeddings: vectors.map((values) => [...values]),
      total_duration: Math.round(1e6 * (performance.now() - startedAt)),
      load_duration: Math.round(1e6 * (begin - startedAt)),
      prompt_eval_count: tokens,
    };
  },
);

export const EMBED_ONE = bodyRoute(
  {
    summary: 'Older route: the embedding of one text.',
    ...OLLAMA,
    fields: ONE_EMBEDDING_FIELDS,
    required: ['model', 'prompt'],
    reply: 'OllamaEmbedding',
  },
  async ({ service, event, body }) => {
    const model = await embeddingModel({ service, event }, body);
    const inputs = [await cut(body.prompt, model)];
    const made = embed(service, event, model, { inputs }, body.prompt);
    const { vectors } = await underNamesLater([['input', 'prompt']], made);
    return { embedding: [...vectors[0]!] };
  },
);

/** The model that a request names. */
async function embeddingModel(
  asking: Asking,
  { model, keep_alive: keepAlive }: { model: string; keep_alive?: string | number | undefined },
): Promise<EmbeddingModel> {
  const options = { endpoints: OLLAMA_ENDPOINTS, keepAlive: keepAliveOf(keepAlive) };
  return (await useModel(asking, MODEL_KINDS.embedding, model, options)).model;
}

/** Truncates a text to the context length, keeping the end token; a text that certainly fits is returned unchanged. */
async function cut(text: TokenInput, model: EmbeddingModel): Promise<TokenInput> {
  const { contextLength } = model.info;
  // Every token covers at least one byte, and few special tokens are added.
  if (typeof text !== 'string' || Buffer.byteLength(text) + 8 <= contextLength) return text;
  const ids = await model.tokenize(text);
  return ids.length <= contextLength ? text : [...ids.slice(0, contextLength - 1), ids.at(-1)!];
}
