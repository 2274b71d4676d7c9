// Plans a language model: the engine's own runner is opened on devices that compute nothing, with weights that are not read.

import { noteOf, type Note, type Prose } from '../../files/message.ts';
import type { Folder } from '../../files/source.ts';
import type { Wrapper } from '../../files/checkpoint/checkpoint.ts';
import { PAGE_TOKENS } from '../../kernels/batch.ts';
import { mediaFamily } from '../../models/towers/media-families.ts';
import { DEFAULTS } from '../../options/limits.ts';
import { TEXT_CLASSES } from '../opening/architectures.ts';
import { activationsNote } from '../text/step/activations.ts';
import { stateCopies } from '../text/kv/kv-pages.ts';
import { copiesBytes } from '../text/kv/state-mover.ts';
import { configuredEndTokens, contextNotes } from '../text/request/defaults.ts';
import { runnerSizes } from '../text/load.ts';
import { openRunner } from '../text/step/open-runner.ts';
import type { RunnerCheckpoint } from '../text/step/runner.ts';
import type { Runner } from '../text/step/text-runner.ts';
import { residentLayers } from '../text/streaming.ts';
import type { TextModelOptions } from '../text/calls/text-model.ts';
import type { RunnerMedia } from '../text/towers/tower-weights.ts';
import { readMedia, withMedia } from '../text/towers/text-media.ts';
import { wrapperNote } from '../text/wrapper-note.ts';
import type { ResidentPart } from '../weights/layers.ts';
import { weightBytesIn } from '../weights/quantization.ts';
import { chosenQuantization } from './chosen-quantization.ts';
import type { ModelPlan, PlannedQuantization, PlanOptions } from './model-plan.ts';
import type { PlanPlace } from './plan-place.ts';
import { readPlannedCheckpoint, type PlannedCheckpoint } from './planned-checkpoint.ts';
import {
  PlannedOpenings,
  type PlannedOpening,
  type PlannedModel,
  type PlannedSettings,
} from './planned-model.ts';
import { readWeights, withTowers } from './planned-weights.ts';

/** Lengths whose KV cache is listed, up to the model's own. */
const LENGTHS = [4096, 16384, 65536];

/** Throws what opening the model throws about its files and its configuration. */
export async function planText(
  folder: Folder,
  options: PlanOptions & { memoryBudget: number },
  place: PlanPlace,
): Promise<ModelPlan> {
  const notes: Note[] = [];
  const note = (message: Prose): void => void notes.push(noteOf(message));
  const checkpoint = await readPlannedCheckpoint(
    folder,
    TEXT_CLASSES,
    place,
    ({ generate }) => generate!,
    note,
  );
  const { architecture, wrapper, tensors } = checkpoint;
  const media = readMedia({ wrapper, beside: checkpoint.beside ?? null }, checkpoint.declaration, note);
  const declaration = withMedia(checkpoint.declaration, media);
  if (checkpoint.towerNote) note(checkpoint.towerNote);
  if (wrapper && !media) note(towerNote(architecture, wrapper, checkpoint));
  const weights = readWeights(checkpoint, declaration.generate!, media ? null : wrapper);
  const { memoryBudget: budget } = options;
  const device = place.openDevice(budget);
  const bytesIn = weightBytesIn(device, tensors, declaration.generate!);
  const quantization = await chosenQuantization(device, options.quantization, bytesIn, note);
  const contextLength = Math.min(options.contextLength ?? declaration.context, declaration.context);
  const model = new PlannedText(place, { ...checkpoint, declaration, media }, options);
  const openings = new PlannedOpenings(model, budget, place.memory, bytesIn.choices);
  const fit = await openings.fit(quantization, contextLength);
  const asked = fit.choices.find((choice) => choice.quantization === quantization);
  const inForce = asked?.opens ? asked.contextLength! : contextLength;
  if (asked?.opens) {
    const { streaming, weightFormats } = model.opened(asked.quantization);
    const rounded = activationsNote(device, weightFormats);
    for (const message of [...streaming, ...(rounded === null ? [] : [rounded])]) note(message);
  }
  for (const message of contextNotes(options, declaration.context, inForce, device)) note(message);
  return {
    model: options.model,
    kind: 'text',
    architecture: declaration.architecture,
    wrapper: wrapper?.architecture ?? null,
    ...withTowers(weights, media),
    notes,
    contextLength: declaration.context,
    cache: cacheOf(model.opened(asked?.quantization ?? 'int4'), contextLength),
    components: [],
    budget,
    ...fit,
  };
}

/** Tells that only the text model is counted: because nothing else is read, or because headers are not known. */
function towerNote(opened: string, wrapper: Wrapper, { beside }: PlannedCheckpoint): string {
  if (beside !== undefined || mediaFamily(wrapper.architecture) === null) return wrapperNote(opened, wrapper);
  return `${wrapper.architecture} reads media, too: its towers are not counted, of which no headers are read`;
}

type OpenedCache = Pick<Runner, 'layout' | 'copyBytes'>;
/** The part of a runner that a plan tells of. */
type OpenedRunner = OpenedCache & Pick<Runner, 'streaming' | 'weightFormats'>;

/** Returns the bytes of KV pages, and of copies of fixed states beside them, for contexts of some lengths; null if no layer has pages. */
function cacheOf({ layout, copyBytes }: OpenedCache, contextLength: number): ModelPlan['cache'] {
  if (layout.pageBytes === 0) return null;
  const bytesOf = (pages: number): number =>
    pages * layout.pageBytes + copiesBytes(stateCopies(pages, layout, copyBytes), copyBytes);
  const lengths = [...LENGTHS.filter((tokens) => tokens < contextLength), contextLength];
  return {
    tokenBytes: (layout.pageBytes * layout.groups.length) / PAGE_TOKENS,
    lengths: lengths.map((tokens) => ({
      tokens,
      bytes: bytesOf(layout.usefulPages(tokens, 1)),
    })),
  };
}

/** The parts of a checkpoint that its memory depends on. */
export type PlannedTextCheckpoint = RunnerCheckpoint &
  Pick<PlannedCheckpoint, 'declaration' | 'generationConfig' | 'config'> & { media?: RunnerMedia | null };

export class PlannedText implements PlannedModel {
  /** Whether layers may be in host memory and are not yet. */
  readonly mayStream: boolean;
  readonly #place: Pick<PlanPlace, 'openDevice'>;
  readonly #checkpoint: PlannedTextCheckpoint;
  readonly #slots: number;
  readonly #opened = new Map<PlannedQuantization, OpenedRunner>();

  constructor(
    place: Pick<PlanPlace, 'openDevice'>,
    checkpoint: PlannedTextCheckpoint,
    {
      layerwiseOffload = false,
      maxRunningRequests: slots = DEFAULTS.runningRequests,
    }: Pick<TextModelOptions, 'layerwiseOffload' | 'maxRunningRequests'>,
  ) {
    this.mayStream = !layerwiseOffload;
    this.#slots = slots;
    this.#place = place;
    this.#checkpoint = checkpoint;
  }

  /** Returns the runner in a quantization that the model was opened with last. */
  opened(quantization: PlannedQuantization): OpenedRunner {
    return this.#opened.get(quantization)!;
  }

  async open(memoryBudget: number, settings: PlannedSettings): Promise<PlannedOpening> {
    return this.#open(memoryBudget, settings);
  }

  unlimited(settings: PlannedSettings): Promise<PlannedOpening> {
    return this.#open(Number.MAX_SAFE_INTEGER, settings);
  }

  /** Pages beyond one context are of use and not needed. */
  async least(settings: PlannedSettings): Promise<number> {
    const least = { maxTotalTokens: settings.contextLength!, resident: { bytes: 0 } };
    return (await this.#open(Number.MAX_SAFE_INTEGER, settings, least)).bytes;
  }

  async #open(
    memoryBudget: number,
    { quantization, contextLength, layerwiseOffload = !this.mayStream }: PlannedSettings,
    { maxTotalTokens = Infinity, resident }: { maxTotalTokens?: number; resident?: ResidentPart } = {},
  ): Promise<PlannedOpening> {
    const { declaration } = this.#checkpoint;
    const device = this.#place.openDevice(memoryBudget);
    const sizes = runnerSizes(device, declaration, {
      slots: this.#slots,
      contextLength: contextLength!,
      maxTotalTokens,
      endTokens: Math.max(1, configuredEndTokens(this.#checkpoint).length),
    });
    const options = {
      ...sizes,
      quantization,
      kept: null,
      packed: null,
      loras: () => Promise.resolve(),
      media: this.#checkpoint.media ?? null,
      unread: true,
    };
    const silent = { onProgress: () => {}, onNote: () => {} };
    const streamed = layerwiseOffload
      ? (resident ?? (await residentLayers(device, this.#checkpoint, declaration, options)))
      : undefined;
    const given = { ...options, streamed };
    const runner: Runner = await openRunner(device, this.#checkpoint, declaration, given, silent);
    const { layout, copyBytes, streaming, weightFormats } = runner;
    this.#opened.set(quantization, { layout, copyBytes, streaming, weightFormats });
    const { weights, arena, step } = device.memory();
    const scratch = arena + step + runner.stateBytes;
    return { weights, scratch, bytes: device.memoryUsed, contextLength: runner.contextLength };
  }
}
