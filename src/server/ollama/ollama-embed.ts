// POST /api/embed and the older /api/embeddings: Ollama's interfaces to embeddings.

import type { H3Event } from 'h3';
import type { EmbeddingModel } from '../../index.ts';
import { embed, underInputName } from '../tokens/embeddings.ts';
import { readUntypedJson } from '../body/json-body.ts';
import { listIgnored } from '../model-call.ts';
import { findModel, OLLAMA_ENDPOINTS } from '../models.ts';
import { checkEmbed, checkOneEmbedding } from './ollama-schema.ts';
import { renameParam } from '../body/renamed.ts';
import { requireRunning, type Service } from '../service.ts';
import { listInputs, type TokenInput } from '../tokens/token-input.ts';

export async function ollamaEmbed(service: Service, event: H3Event): Promise<unknown> {
  const startedAt = event.context.call?.startedAt ?? performance.now();
  requireRunning(service);
  const { body, ignored } = checkEmbed(await readUntypedJson(event.req), service.options.strict);
  const { model } = findModel(service, 'embedding', body.model, OLLAMA_ENDPOINTS);
  listIgnored(event, ignored);
  const { dimensions, truncate = true } = body;
  const texts = listInputs(body.input);
  const inputs = truncate ? await Promise.all(texts.map((text) => cut(text, model))) : texts;
  const begin = performance.now();
  const made = embed(service, event, model, { inputs, ...(dimensions !== undefined && { dimensions }) });
  const { vectors, tokens } = await made.catch((error: unknown) => {
    throw underInputName(error, body.input);
  });
  return {
    model: body.model,
    embeddings: vectors.map((values) => [...values]),
    total_duration: Math.round(1e6 * (performance.now() - startedAt)),
    load_duration: Math.round(1e6 * (begin - startedAt)),
    prompt_eval_count: tokens,
  };
}

export async function ollamaEmbedOne(service: Service, event: H3Event): Promise<unknown> {
  requireRunning(service);
  const { body, ignored } = checkOneEmbedding(await readUntypedJson(event.req), service.options.strict);
  const { model } = findModel(service, 'embedding', body.model, OLLAMA_ENDPOINTS);
  listIgnored(event, ignored);
  const inputs = [await cut(body.prompt, model)];
  const { vectors } = await embed(service, event, model, { inputs }).catch((error: unknown) => {
    throw renameParam(underInputName(error, body.prompt), [['input', 'prompt']]);
  });
  return { embedding: [...vectors[0]!] };
}

/** Truncates a text to the context length, keeping the end token; a text that certainly fits is returned unchanged. */
async function cut(text: TokenInput, model: EmbeddingModel): Promise<TokenInput> {
  const { contextLength } = model.info;
  // Every token covers at least one byte, and few special tokens are added.
  if (typeof text !== 'string' || Buffer.byteLength(text) + 8 <= contextLength) return text;
  const ids = await model.tokenize(text);
  return ids.length <= contextLength ? text : [...ids.slice(0, contextLength - 1), ids.at(-1)!];
}
