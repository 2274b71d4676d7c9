// Opens an embedding model in this thread: checkpoint, device and runner, behind the EmbeddingModel face.

import { openCheckpoint, readCheckpointConfig } from '../../files/checkpoint/checkpoint.ts';
import { readEmbeddingLayout } from '../../files/checkpoint/embedding-folder.ts';
import { EngineError } from '../../files/error.ts';
import { checkVocabularySize } from '../../files/tokenizer/token-ids.ts';
import { BERT_ARCHITECTURES } from '../../models/text/bert-config.ts';
import { readConfig } from '../../models/config-values.ts';
import { readText } from '../../models/text/registry.ts';
import { EMBEDDING_CLASSES } from '../architectures.ts';
import { fetchModel } from '../fetch-model.ts';
import { DEFAULTS } from '../limits.ts';
import type { Platform } from '../platform.ts';
import { chooseQuantization, modelName } from '../text/defaults.ts';
import type { OpenEvent } from '../session/open-event.ts';
import { openDecoder } from './decoder.ts';
import { openEncoder } from './encoder.ts';
import type { EmbeddingModel, EmbeddingModelInfo, EmbeddingModelOptions } from './embedding-model.ts';
import { createEmbeddingModel } from './model.ts';
import type { EmbeddingRunner } from './runner.ts';

/** Tokens of one text where nobody says otherwise; pages for more would take memory from other models. */
const CONTEXT = 8192;

/** Errors: those of openTextModel. */
export async function openEmbeddingModelInline(
  platform: Platform,
  options: EmbeddingModelOptions,
  onEvent: (event: OpenEvent) => void = () => {},
  signal?: AbortSignal,
): Promise<EmbeddingModel> {
  let isOpen = false;
  const tell = (event: OpenEvent): void => {
    if (signal?.aborted && !isOpen) throw new EngineError('cancelled', 'opening the model was cancelled');
    onEvent(event);
  };
  const path = await fetchModel(platform, options, tell, signal, async (settings) => {
    await readCheckpointConfig(settings, EMBEDDING_CLASSES);
  });
  const folder = await platform.openFolder(path);
  const checkpoint = await openCheckpoint(folder, EMBEDDING_CLASSES);
  try {
    const isEncoder = BERT_ARCHITECTURES.includes(checkpoint.architecture);
    const architecture = isEncoder
      ? checkpoint.architecture
      : readText(checkpoint.config, checkpoint.architecture).architecture;
    const layout = await readEmbeddingLayout(folder, isEncoder ? 'mean' : 'last');
    const tokenizer = await checkpoint.tokenizer();
    const vocabSize = readConfig('config.json', checkpoint.config).count('vocab_size');
    checkVocabularySize(tokenizer, vocabSize);
    let quantization: EmbeddingModelInfo['quantization'] = 'none';
    const start = async (): Promise<EmbeddingRunner> => {
      const device = await platform.openDevice(options);
      try {
        const chosen = await chooseQuantization(checkpoint, options.quantization ?? 'none', device);
        ({ quantization } = chosen);
        if (chosen.note !== null) tell({ type: 'note', message: chosen.note });
        const loaded = await (isEncoder ? openEncoder : openDecoder)(device, checkpoint, architecture, {
          pooling: layout.pooling,
          quantization,
          contextLength: Math.min(options.contextLength ?? CONTEXT, layout.mostTokens ?? Infinity),
          onProgress: (bytes, totalBytes) => tell({ type: 'load', bytes, totalBytes }),
        });
        await warmUp(loaded, (done, total) => tell({ type: 'warmup', done, total }));
        return loaded;
      } catch (error) {
        device.destroy();
        throw error;
      }
    };
    const runner = await start();
    const { device } = runner;
    const memory = device.memory();
    isOpen = true;
    return createEmbeddingModel({
      info: {
        path: checkpoint.path,
        name: modelName(options.model),
        architecture,
        parameters: runner.parameters,
        quantization,
        vocabSize,
        dimensions: runner.dimensions,
        pooling: layout.pooling,
        normalized: layout.normalize,
        contextLength: runner.contextLength,
        maxQueuedRequests: options.maxQueuedRequests ?? DEFAULTS.queuedRequests,
        memory: {
          budget: device.memoryBudget,
          weights: memory.weights,
          kv: memory.kv,
          arena: memory.arena + memory.step,
        },
        adapter: device.summary,
      },
      tokenizer,
      runner,
      restart(reason) {
        tell({ type: 'note', message: `the GPU device was lost (${reason}); loading the model again` });
        return start().catch((cause: unknown) => {
          const message = `the GPU device was lost (${reason}) and could not be opened again: restart the program`;
          throw new EngineError('device_lost', message, { cause });
        });
      },
      release: () => checkpoint.close(),
    });
  } catch (error) {
    await checkpoint.close();
    throw error;
  }
}

/** Tokens and texts of batches that differ in the kernels they take. */
const WARM_UP = [
  { tokens: 1, texts: 1 },
  { tokens: 20, texts: 1 },
  { tokens: 32, texts: 4 },
];

/** Kernels are compiled at their first use; a request should not have to wait for that. */
async function warmUp(
  runner: EmbeddingRunner,
  onProgress: (done: number, total: number) => void,
): Promise<void> {
  for (const [done, { tokens, texts }] of WARM_UP.entries()) {
    onProgress(done, WARM_UP.length);
    const ids = Array<number>(Math.min(tokens, runner.contextLength)).fill(0);
    await runner.run(Array<number[]>(texts).fill(ids), () => true);
  }
  onProgress(WARM_UP.length, WARM_UP.length);
}
