// Plans an embedding model: its weights, by its page's requests. What it takes beside them depends on the texts that come.

import { readCheckpointConfig, type CheckpointConfig } from '../../files/checkpoint/checkpoint.ts';
import { openCheckpoint } from '../../files/checkpoint/checkpoint.ts';
import { readEmbeddingLayout } from '../../files/checkpoint/embedding-folder.ts';
import type { Folder } from '../../files/source.ts';
import type { Device } from '../../gpu/device.ts';
import { readText } from '../../models/text/registry.ts';
import type { WeightTable } from '../../models/weights.ts';
import { EMBEDDING_CLASSES } from '../architectures.ts';
import { checkRequests } from '../weights/check.ts';
import { collect } from '../weights/collect.ts';
import { parametersOf } from '../weights/plan.ts';
import { QUANTIZATIONS, weightBytesIn } from '../weights/quantization.ts';
import { fit } from './fit.ts';
import {
  assumingWeights,
  indexedNames,
  isMissing,
  requestedHeaders,
  statedDtype,
  type Headers,
} from './headers.ts';
import type { ModelPlan, PlanOptions } from './model-plan.ts';

interface Declared {
  architecture: string;
  contextLength: number;
  page: (weights: WeightTable) => unknown;
}

export async function planEmbedding(
  folder: Folder,
  options: PlanOptions & { memoryBudget: number },
  { capabilities }: Pick<Device, 'capabilities'>,
): Promise<ModelPlan> {
  const config = await readCheckpointConfig(assumingWeights(folder, 'model.safetensors'), EMBEDDING_CLASSES);
  const { architecture, contextLength, page } = declare(config);
  await readEmbeddingLayout(folder, 'mean');
  const { tensors, source } = await headersOf(folder, config, page);
  const { requests, ignored } = collect(tensors, page);
  const unread = checkRequests({ requests, ignored }, tensors);
  const bytesFor = weightBytesIn({ capabilities }, tensors, page);
  const choices = QUANTIZATIONS.map((quantization) => {
    const weights = bytesFor(quantization);
    return { quantization, weights, scratch: 0, contextLength: null, opens: weights <= options.memoryBudget };
  });
  const { quantization = 'none' } = options;
  return {
    model: options.model,
    kind: 'embedding',
    architecture,
    wrapper: null,
    parameters: parametersOf(requests),
    stored: [...new Set([...tensors.values()].map(({ dtype }) => dtype))],
    source,
    ignored: { modules: unread.names, tensors: unread.tensors },
    notes: ['memory beside the weights depends on the texts'],
    contextLength,
    cache: null,
    components: [],
    choices,
    budget: options.memoryBudget,
    ...fit(choices, { quantization, contextLength: null }, bytesFor),
  };
}

function declare({ config, architecture }: CheckpointConfig): Declared {
  const text = readText(config, architecture);
  return { architecture: text.architecture, contextLength: text.context, page: text.embed! };
}

async function headersOf(
  folder: Folder,
  { config }: CheckpointConfig,
  page: Declared['page'],
): Promise<Headers> {
  try {
    const checkpoint = await openCheckpoint(assumingWeights(folder, 'model.safetensors'), EMBEDDING_CLASSES);
    await checkpoint.close();
    return { tensors: checkpoint.tensors, source: 'headers' };
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  return requestedHeaders(
    page,
    await indexedNames(folder, 'model.safetensors.index.json'),
    statedDtype(config),
  );
}
