// Plans an embedding model: its runner is opened on devices that compute nothing, with weights that are not read, and records the
// batches that opening the model runs.

import { readEmbeddingLayout, type EmbeddingLayout } from '../../files/checkpoint/embedding-folder.ts';
import type { Device } from '../../gpu/device.ts';
import { EMBEDDING_CLASSES } from '../opening/architectures.ts';
import type { OpenOnPaper, PaperOpening, PaperSettings } from '../plan/paper-model.ts';
import { readPlannedCheckpoint, type PlannedCheckpoint } from '../plan/planned-checkpoint.ts';
import { plannedPage, weightsOf } from '../plan/planned-weights.ts';
import { chooseQuantization, weightBytesIn } from '../weights/quantization.ts';
import { embeddingContextNotes, wantedContext } from './context.ts';
import { openEmbeddingRunner, WARM_UP_BATCHES } from './runner.ts';

export const openEmbeddingOnPaper: OpenOnPaper = async (path, options, place, note) => {
  const folder = await place.openFolder(path);
  const pageOf = ({ embed }: PlannedCheckpoint['declaration']) => embed!;
  const checkpoint = await readPlannedCheckpoint(folder, EMBEDDING_CLASSES, place, pageOf, note);
  const { declaration, tensors, configSource } = checkpoint;
  const isWhole = declaration.inputs.attention === 'whole';
  const layout = await readEmbeddingLayout(folder, isWhole ? 'mean' : 'last');
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
