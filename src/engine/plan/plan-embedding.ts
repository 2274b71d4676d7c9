// Plans an embedding model: its runner is opened on devices that compute nothing, with weights that are not read, and records the
// batches that opening the model runs.

import { noteOf, type Note, type Prose } from '../../files/message.ts';
import { readEmbeddingLayout, type EmbeddingLayout } from '../../files/checkpoint/embedding-folder.ts';
import type { Folder } from '../../files/source.ts';
import { EMBEDDING_CLASSES } from '../opening/architectures.ts';
import { embeddingContextNotes, wantedContext } from '../embedding/context.ts';
import { openEmbeddingRunner, WARM_UP_BATCHES } from '../embedding/runner.ts';
import { weightBytesIn } from '../weights/quantization.ts';
import { chosenQuantization } from './chosen-quantization.ts';
import type { ModelPlan, PlanOptions } from './model-plan.ts';
import type { PlanPlace } from './plan-place.ts';
import { readPlannedCheckpoint, type PlannedCheckpoint } from './planned-checkpoint.ts';
import {
  PlannedOpenings,
  type PlannedOpening,
  type PlannedModel,
  type PlannedSettings,
} from './planned-model.ts';
import { readWeights } from './planned-weights.ts';

/** Throws what opening the model throws about its files and its configuration. */
export async function planEmbedding(
  folder: Folder,
  options: PlanOptions & { memoryBudget: number },
  place: PlanPlace,
): Promise<ModelPlan> {
  const notes: Note[] = [];
  const note = (message: Prose): void => void notes.push(noteOf(message));
  const checkpoint = await readPlannedCheckpoint(
    folder,
    EMBEDDING_CLASSES,
    place,
    ({ embed }) => embed!,
    note,
  );
  const { declaration, tensors } = checkpoint;
  const isWhole = declaration.inputs.attention === 'whole';
  const layout = await readEmbeddingLayout(folder, isWhole ? 'mean' : 'last');
  const weights = readWeights(checkpoint, declaration.embed!, null);
  const { memoryBudget: budget } = options;
  const device = place.openDevice(budget);
  const bytesIn = weightBytesIn(device, tensors, declaration.embed!);
  const quantization = await chosenQuantization(device, options.quantization, bytesIn, note);
  const model = new PlannedEmbedding(place, checkpoint, layout);
  const wanted = Math.min(wantedContext(options.contextLength, layout), declaration.context);
  const openings = new PlannedOpenings(model, budget, place.memory, bytesIn.choices);
  const fit = await openings.fit(quantization, wanted);
  const asked = fit.choices.find((choice) => choice.quantization === quantization);
  const inForce = asked?.opens ? asked.contextLength! : wanted;
  for (const message of embeddingContextNotes(options.contextLength, declaration, layout, inForce, device))
    note(message);
  note('a batch of more tokens than those that opening runs takes memory of its own when it first comes');
  return {
    model: options.model,
    kind: 'embedding',
    architecture: declaration.architecture,
    wrapper: null,
    media: [],
    ...weights,
    notes,
    contextLength: declaration.context,
    cache: null,
    components: [],
    budget,
    ...fit,
  };
}

class PlannedEmbedding implements PlannedModel {
  readonly #place: PlanPlace;
  readonly #checkpoint: PlannedCheckpoint;
  readonly #layout: EmbeddingLayout;

  constructor(place: PlanPlace, checkpoint: PlannedCheckpoint, layout: EmbeddingLayout) {
    this.#place = place;
    this.#checkpoint = checkpoint;
    this.#layout = layout;
  }

  async open(
    memoryBudget: number,
    { quantization, contextLength }: PlannedSettings,
  ): Promise<PlannedOpening> {
    const device = this.#place.openDevice(memoryBudget);
    const runner = await openEmbeddingRunner(device, this.#checkpoint, this.#checkpoint.declaration, {
      pooling: this.#layout.pooling,
      quantization,
      contextLength: contextLength!,
      onProgress: () => {},
      onNote: () => {},
      unread: true,
    });
    for (const { tokens, texts } of WARM_UP_BATCHES)
      await runner.record(Math.min(tokens, runner.contextLength) * texts);
    device.arena.settle();
    const { weights, arena, step, kv } = device.memory();
    const scratch = arena + step + kv;
    return { weights, scratch, bytes: device.memoryUsed, contextLength: runner.contextLength };
  }

  unlimited(settings: PlannedSettings): Promise<PlannedOpening> {
    return this.open(Number.MAX_SAFE_INTEGER, settings);
  }

  async least(settings: PlannedSettings): Promise<number> {
    return (await this.unlimited(settings)).bytes;
  }
}
