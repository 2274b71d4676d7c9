// Plans a language model: the engine's own runner is opened on a device that computes nothing, with weights that are not read.

import { openCheckpoint, readCheckpointConfig, type Checkpoint } from '../../files/checkpoint/checkpoint.ts';
import { textTensors } from '../../files/checkpoint/text-half.ts';
import type { ByteSource, Folder } from '../../files/source.ts';
import type { Device } from '../../gpu/device.ts';
import { PAGE_TOKENS } from '../../kernels/batch.ts';
import type { TextDeclaration } from '../../models/text/architecture.ts';
import { readText } from '../../models/text/registry.ts';
import { TEXT_CLASSES } from '../architectures.ts';
import { DEFAULTS } from '../../options/limits.ts';
import { leastPages, pagesWithin, usefulPages } from '../text/cache/kv-pages.ts';
import { pageLayout, type PageLayout } from '../text/cache/page-layout.ts';
import { runnerSizes } from '../text/load.ts';
import { openRunner } from '../text/step/open-runner.ts';
import type { Runner, RunnerCheckpoint } from '../text/step/runner.ts';
import { wrapperNote } from '../text/wrapper-note.ts';
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
import type { ModelPlan, PlannedChoice, PlannedQuantization, PlanOptions } from './model-plan.ts';

const INDEX = 'model.safetensors.index.json';
/** Lengths whose KV cache is listed, up to the model's own. */
const LENGTHS = [4096, 16384, 65536];

/** `openDevice`: a device that computes nothing, with a budget. Throws what opening the model would throw about its configuration. */
export async function planText(
  folder: Folder,
  options: PlanOptions & { memoryBudget: number },
  openDevice: (memoryBudget: number) => Device,
): Promise<ModelPlan> {
  const notes: string[] = [];
  const checkpoint = await headersOf(folder);
  if (checkpoint.wrapper) notes.push(wrapperNote(checkpoint.architecture, checkpoint.wrapper));
  const declaration = readText(checkpoint.config, checkpoint.architecture);
  const { requests, ignored } = collect(checkpoint.tensors, declaration.generate!);
  const unread = checkRequests({ requests, ignored }, checkpoint.tensors);
  const left = checkpoint.wrapper ?? { left: [], leftTensors: 0 };

  const contextLength = Math.min(options.contextLength ?? declaration.context, declaration.context);
  const unlimited = openDevice(Number.MAX_SAFE_INTEGER);
  const memory = await memoryOf(unlimited, checkpoint, declaration, {
    contextLength,
    memoryBudget: options.memoryBudget,
  });
  const quantization = options.quantization ?? 'none';
  const layout = memory.layout(quantization);
  const tokenBytes = (layout.pageBytes * layout.groups.length) / PAGE_TOKENS;
  const lengths = [...LENGTHS.filter((tokens) => tokens < contextLength), contextLength];
  return {
    model: options.model,
    kind: 'text',
    architecture: declaration.architecture,
    wrapper: checkpoint.wrapper?.architecture ?? null,
    parameters: parametersOf(requests),
    stored: [
      ...new Set(requests.flatMap(({ names }) => names.map((name) => checkpoint.tensors.get(name)!.dtype))),
    ],
    source: checkpoint.source,
    ignored: { modules: [...left.left, ...unread.names], tensors: left.leftTensors + unread.tensors },
    notes,
    contextLength: declaration.context,
    cache: {
      tokenBytes,
      lengths: lengths.map((tokens) => ({ tokens, bytes: contextBytes(layout, tokens) })),
    },
    components: [],
    choices: memory.choices,
    budget: options.memoryBudget,
    ...fit(memory.choices, { quantization, contextLength }, memory.bytesFor),
  };
}

interface PlannedMemory {
  choices: PlannedChoice[];
  /** Bytes of everything in a quantization with a context. */
  bytesFor(quantization: PlannedQuantization, contextLength: number | null): number;
  layout(quantization: PlannedQuantization): PageLayout;
}

/** Memory of a text model: bytes that its runner takes on a device without limits, and the part of it that fits into the budget. */
async function memoryOf(
  device: Device,
  checkpoint: Planned,
  { layers, ...declaration }: TextDeclaration,
  { contextLength, memoryBudget }: { contextLength: number; memoryBudget: number },
): Promise<PlannedMemory> {
  const runner = await openOn(device, checkpoint, { layers, ...declaration }, contextLength);
  const { arena, step } = device.memory();
  const scratch = arena + step;
  const format = (quantization: PlannedQuantization) =>
    quantization === 'none' ? runner.kvFormat : ('f16' as const);
  const weightsIn = weightBytesIn(device, checkpoint.tensors, declaration.generate!);
  const sizes = { contextLength, totalTokens: Infinity, slots: DEFAULTS.runningRequests };
  const layoutIn = (quantization: PlannedQuantization): PageLayout =>
    pageLayout(layers, format(quantization), { contextLength, rows: runner.rows });
  const choices = QUANTIZATIONS.map((quantization): PlannedChoice => {
    const weights = weightsIn(quantization);
    const layout = layoutIn(quantization);
    const most = usefulPages(device, layout, sizes);
    const fitting = pagesWithin(memoryBudget - weights - scratch, layout);
    const pages = Math.min(most, fitting);
    const opens = pages >= leastPages(layout);
    const tokens = opens ? Math.min(contextLength, layout.contextWithin(pages)) : 0;
    return { quantization, weights, scratch, contextLength: tokens, opens };
  });
  return {
    choices,
    layout: layoutIn,
    bytesFor: (quantization, tokens) =>
      weightsIn(quantization) +
      scratch +
      contextBytes(layoutIn(quantization), tokens ?? 0) +
      layoutIn(quantization).pageBytes, // for copies
  };
}

/** Bytes of the KV pages of one context. */
function contextBytes(layout: PageLayout, tokens: number): number {
  return layout.usefulPages(tokens, 1) * layout.pageBytes;
}

type Planned = Pick<Checkpoint, 'path' | 'architecture' | 'wrapper' | 'config' | 'tensors' | 'shards'> &
  Pick<Headers, 'source'>;

/** A checkpoint with the headers of its files. If the files are missing, the headers are made from the weight requests of its page. */
async function headersOf(folder: Folder): Promise<Planned> {
  const assumed = assumingWeights(folder, 'model.safetensors');
  try {
    const checkpoint = await openCheckpoint(assumed, TEXT_CLASSES);
    await checkpoint.close();
    return { ...checkpoint, source: 'headers' };
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const { config, architecture, wrapper } = await readCheckpointConfig(assumed, TEXT_CLASSES);
  const declaration = readText(config, architecture);
  const listed = await indexedNames(folder, INDEX);
  const { tensors, ...left } = textTensors(new Map((listed ?? []).map((name) => [name, name])));
  const names = listed === null ? null : [...tensors.keys()];
  const headers = requestedHeaders(declaration.generate!, names, statedDtype(config));
  const stored = [...headers.tensors].map(
    ([name, header]) => [name, { ...header, source: NOWHERE, offset: 0 }] as const,
  );
  return {
    path: folder.path,
    architecture,
    wrapper:
      wrapper === null ? null : { architecture: wrapper, left: left.left, leftTensors: left.leftTensors },
    config,
    tensors: new Map(stored),
    shards: [],
    source: 'config',
  };
}

/** The file of tensors of which nothing but a header is known. */
const NOWHERE: ByteSource = {
  name: 'no file',
  size: 0,
  read: () => Promise.reject(new Error('a planned tensor has no bytes')),
  readInto: () => Promise.reject(new Error('a planned tensor has no bytes')),
  close: () => Promise.resolve(),
};

/** Opens the engine's runner, whose buffers give the memory beside weights and pages. */
function openOn(
  device: Device,
  checkpoint: RunnerCheckpoint,
  declaration: TextDeclaration,
  contextLength: number,
): Promise<Runner> {
  const slots = DEFAULTS.runningRequests;
  const options = {
    ...runnerSizes(device, declaration, { slots, contextLength, endTokens: 1 }),
    quantization: 'none' as const,
    pages: null,
    packed: null,
    adapters: () => Promise.resolve(),
    unread: true,
  };
  return openRunner(device, checkpoint, declaration, options, { onProgress: () => {}, onNote: () => {} });
}
