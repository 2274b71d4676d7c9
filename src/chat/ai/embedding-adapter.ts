// An embedding model as an EmbeddingModelV3.

import type { EmbeddingModelV3, EmbeddingModelV3CallOptions, EmbeddingModelV3Result } from '@ai-sdk/provider';
import type { EmbeddingModel } from '../../engine/embedding/embedding-model.ts';
import { headerWarnings, ownOptions, PROVIDER, sdkError } from './ai-options.ts';

export class EmbeddingAdapter implements EmbeddingModelV3 {
  readonly specificationVersion = 'v3';
  readonly provider = PROVIDER;
  readonly modelId: string;
  readonly maxEmbeddingsPerCall = 2048;
  readonly supportsParallelCalls = true;
  readonly #open: () => Promise<EmbeddingModel>;

  constructor(open: () => Promise<EmbeddingModel>, modelId: string) {
    this.#open = open;
    this.modelId = modelId;
  }

  /** `providerOptions['svc-engine'].dimensions`: only the first values. */
  async doEmbed(options: EmbeddingModelV3CallOptions): Promise<EmbeddingModelV3Result> {
    const { values, abortSignal: signal, providerOptions, headers } = options;
    const embeddings: number[][] = [];
    let tokens = 0;
    try {
      const model = await this.#open();
      const request = { ...ownOptions(providerOptions), inputs: values };
      for await (const event of model.generate(request, signal ? { signal } : {})) {
        if (event.type === 'accepted') tokens = event.tokens.reduce((sum, count) => sum + count, 0);
        else embeddings[event.index] = [...event.values];
      }
    } catch (error) {
      throw sdkError(error, signal);
    }
    return { embeddings, usage: { tokens }, warnings: headerWarnings(headers) };
  }
}
