// Plans an embedding model: its runner is opened on devices that compute nothing, with weights that are not read, and records the
// batches that opening the model runs.

import {
  readEmbeddingLayout,
  type EmbeddingLayout,
  type Pooling,
} from '../../files/checkpoint/embedding-folder.ts';
import type { TokenScore } from '../../files/checkpoint/token-score.ts';
import { denseName } from '../../files/checkpoint/dense-modules.ts';
import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import type { Device } from '../../gpu/device.ts';
import { embeddingClasses } from '../opening/architectures.ts';
import type { OpenOnPaper, PaperOpening, PaperSettings } from '../plan/paper-model.ts';
import { NOWHERE, readPlannedCheckpoint, type PlannedCheckpoint } from '../plan/planned-checkpoint.ts';
import { plannedPage, weightsOf } from '../plan/planned-weights.ts';
import { chooseQuantization, weightBytesIn } from '../weights/quantization.ts';
import { embeddingContextNotes, wantedContext } from './context.ts';
import { withTokenScore } from './token-score.ts';
import { withDense } from './vector-modules.ts';
import { openEmbeddingRunner, WARM_UP_BATCHES } from './runner.ts';

/** A score by two tokens of a tokenizer that is not read: which ones they are changes no sizes. */
const ANSWERS: TokenScore = { yes: 0, no: 0, activation: null, instruction: null };

export const openEmbeddingOnPaper: OpenOnPaper = async (path, options, place, note) => {
  const folder = await place.openFolder(path);
  const layoutBy = async (pooling: Pooling): Promise<EmbeddingLayout> => {
    const stated = await readEmbeddingLayout(folder, pooling);
    return options.judge ? { ...stated, tokenScore: ANSWERS } : stated;
  };
  const { tokenScore } = await layoutBy('last');
  const pageOf = (declaration: PlannedCheckpoint['declaration']) =>
    withTokenScore(declaration, declaration.outputs ? null : tokenScore).embed!;
  const read = await readPlannedCheckpoint(folder, embeddingClasses(options), place, pageOf, note);
  const isWhole = read.declaration.inputs.attention === 'whole';
  const layout = await layoutBy(isWhole ? 'mean' : 'last');
  const checkpoint = withModules(read, layout);
  const { declaration, tensors, configSource } = checkpoint;
  const weights = weightsOf([plannedPage('', tensors, pageOf(declaration), configSource)]);
  const device = place.openDevice(options.memoryBudget);
  const bytesIn = weightBytesIn(device, tensors, pageOf(declaration));
  const wanted = Math.min(wantedContext(options.contextLength, layout), declaration.context);
  return {
    model: {
      quantizations: bytesIn.choices,
      contextLength: wanted,
      open: (budget, settings) => openBatches(place.openDevice(budget), checkpoint, layout, settings),
    },
    choose: () => chooseQuantization(device, options.quantization, bytesIn, note),
    describe(asked) {
      const inForce = asked?.opens ? asked.contextLength! : wanted;
      const { contextLength } = options;
      const context = embeddingContextNotes(contextLength, declaration, layout, inForce, device);
      for (const message of context) note(message);
      note('a batch of more tokens than those that opening runs takes memory of its own when it first comes');
      const { architecture, context: most } = declaration;
      return { kind: 'embedding', architecture, ...weights, contextLength: most };
    },
  };
};

/** The checkpoint with its modules; the tensors of Dense modules are those that their configurations state. */
function withModules(
  checkpoint: PlannedCheckpoint,
  { dense, tokenScore }: EmbeddingLayout,
): PlannedCheckpoint {
  const headers = dense.flatMap((one): [name: string, shape: number[]][] => [
    [`${denseName(one)}.weight`, [one.rows, one.columns]],
    ...(one.bias ? [[`${denseName(one)}.bias`, [one.rows]] satisfies [string, number[]]] : []),
  ]);
  const stated = headers.map(([name, shape]): [string, TensorEntry] => {
    const bytes = 4 * shape.reduce((product, extent) => product * extent, 1);
    return [name, { name, shape, dtype: 'F32', bytes, source: NOWHERE, offset: 0 }];
  });
  const tensors = new Map([...checkpoint.tensors, ...stated]);
  const declaration = withTokenScore(withDense(checkpoint.declaration, dense), tokenScore);
  return { ...checkpoint, tensors, declaration };
}

async function openBatches(
  device: Device,
  checkpoint: PlannedCheckpoint,
  { pooling }: EmbeddingLayout,
  { quantization, contextLength }: PaperSettings,
): Promise<PaperOpening> {
  const runner = await openEmbeddingRunner(device, checkpoint, checkpoint.declaration, {
    ...{ pooling, quantization, contextLength: contextLength!, unread: true },
    onProgress: () => {},
    onNote: () => {},
  });
  const { contextLength: opened } = runner.facts;
  for (const { tokens, texts } of WARM_UP_BATCHES) await runner.record(Math.min(tokens, opened) * texts);
  device.arena.settle();
  const { weights, arena, step, kv } = device.memory();
  const scratch = arena + step + kv;
  return { weights, scratch, bytes: device.memoryUsed, contextLength: opened };
}
