// Plans a language model: the engine's own runner is opened on devices that compute nothing, with weights that are not read.

import type { Wrapper } from '../../files/checkpoint/checkpoint.ts';
import type { Device } from '../../gpu/device.ts';
import { closeAll } from '../../files/source.ts';
import { openPaperTwin } from '../../gpu/paper-device.ts';
import { PAGE_TOKENS } from '../../kernels/batch.ts';
import type { TextDeclaration } from '../../models/text/blocks/architecture.ts';
import { mediaFamily } from '../../models/towers/media-families.ts';
import { DEFAULTS } from '../../options/limits.ts';
import { TEXT_CLASSES } from '../opening/architectures.ts';
import type { ModelPlan, PlannedQuantization } from '../plan/model-plan.ts';
import type { OpenOnPaper, PaperModel, PaperOpening, PaperSettings, PlanPlace } from '../plan/paper-model.ts';
import { readPlannedCheckpoint, type PlannedCheckpoint } from '../plan/planned-checkpoint.ts';
import { plannedPage, weightsOf, type PlannedPage } from '../plan/planned-weights.ts';
import { collect } from '../weights/collect.ts';
import { chooseQuantization, weightBytesIn } from '../weights/quantization.ts';
import { activationsNote } from './step/activations.ts';
import { stateCopies } from './kv/kv-pages.ts';
import { copiesBytes } from './kv/state-mover.ts';
import { printedKinds } from './media/library.ts';
import { configuredEndTokens, contextNotes, suppressedTokens } from './request/defaults.ts';
import { askedBeside, leastBeside, placedBeside, type AskedBeside } from './beside-device.ts';
import { runnerSizes } from './load.ts';
import type { RunnerCheckpoint } from './step/runner-options.ts';
import type { Runner } from './step/text-runner.ts';
import type { DraftModelSource } from './step/runner-drafts.ts';
import { openPaperRunner } from './streaming.ts';
import type { TextModelOptions } from './calls/text-model.ts';
import type { RunnerMedia } from './towers/tower-weights.ts';
import { openMedia, withMedia } from './towers/text-media.ts';
import { wrapperNote } from './wrapper-note.ts';

/** Lengths whose KV cache is listed, up to the model's own. */
const LENGTHS = [4096, 16384, 65536];

export const openTextOnPaper: OpenOnPaper = async (path, options, place, note) => {
  const folder = await place.openFolder(path);
  const pageOf = ({ generate }: TextDeclaration) => generate!;
  const checkpoint = await readPlannedCheckpoint(folder, TEXT_CLASSES, place, pageOf, note);
  const { architecture, wrapper, tensors, configSource } = checkpoint;
  const beside = checkpoint.beside ?? null;
  const media = await openMedia({ path, wrapper, beside }, checkpoint.declaration, note);
  await closeAll((media?.loras ?? []).map(({ file }) => file));
  const declaration = withMedia(checkpoint.declaration, media);
  if (checkpoint.towerNote) note(checkpoint.towerNote);
  if (wrapper && !media) note(towerNote(architecture, wrapper, checkpoint));
  const kinds = media && checkpoint.template ? printedKinds(media.model, await checkpoint.template()) : [];
  const page = plannedPage('', tensors, pageOf(declaration), configSource);
  const device = place.openDevice(options.memoryBudget);
  const bytesIn = weightBytesIn(device, tensors, pageOf(declaration));
  const model = new PaperText(place, { ...checkpoint, declaration, media }, options, bytesIn.choices);
  return {
    model,
    choose: () => chooseQuantization(device, options.quantization, bytesIn, note),
    describe(asked) {
      const { contextLength, quantizations } = model;
      const opened = model.opened(asked?.quantization ?? quantizations.at(-1)!);
      const rounded = activationsNote(device, opened.weightFormats);
      const told = asked?.opens ? [...opened.streaming, ...(rounded === null ? [] : [rounded])] : [];
      const inForce = asked?.opens ? asked.contextLength! : contextLength;
      const context = contextNotes(options, declaration, inForce, device);
      for (const message of [...told, ...context]) note(message);
      return {
        kind: 'text',
        architecture: declaration.architecture,
        wrapper: wrapper?.architecture ?? null,
        media: kinds,
        ...weightsOf([
          ...(wrapper && !media ? [leftPage(wrapper)] : []),
          page,
          ...(media ? towerPages(media) : []),
        ]),
        contextLength: declaration.context,
        cache: cacheOf(opened, contextLength),
      };
    },
  };
};

/** Tells that only the text model is counted: because nothing else is read, or because headers are not known. */
function towerNote(opened: string, wrapper: Wrapper, { beside }: PlannedCheckpoint): string {
  if (beside !== undefined || mediaFamily(wrapper.architecture) === null) return wrapperNote(opened, wrapper);
  return `${wrapper.architecture} reads media, too: its towers are not counted, of which no headers are read`;
}

/** The modules beside the text model, of which nothing is read. */
function leftPage({ left, leftTensors }: Wrapper): PlannedPage {
  const unread = { names: left, tensors: leftTensors };
  return { component: '', requests: [], tensors: new Map(), unread };
}

function towerPages({ model, tensors }: RunnerMedia): PlannedPage[] {
  return Object.entries(model.towers).map(([component, page]) => {
    const { requests } = collect(tensors, page);
    return { component, requests, tensors, unread: { names: [], tensors: 0 } };
  });
}

type OpenedCache = Pick<Runner, 'layout' | 'copyBytes' | 'kvFormat'>;
/** The part of a runner that a plan tells of. */
type OpenedRunner = OpenedCache & Pick<Runner, 'streaming' | 'weightFormats'>;

/** Returns the bytes of KV pages, and of copies of fixed states beside them, for contexts of some lengths; null if no layer has pages. */
function cacheOf({ layout, copyBytes, kvFormat }: OpenedCache, contextLength: number): ModelPlan['cache'] {
  if (layout.pageBytes === 0) return null;
  const bytesOf = (pages: number): number =>
    pages * layout.pageBytes + copiesBytes(stateCopies(pages, layout, copyBytes), copyBytes);
  const lengths = [...LENGTHS.filter((tokens) => tokens < contextLength), contextLength];
  return {
    dtype: kvFormat,
    tokenBytes: (layout.pageBytes * layout.groups.length) / PAGE_TOKENS,
    lengths: lengths.map((tokens) => ({
      tokens,
      bytes: bytesOf(layout.usefulPages(tokens, 1)),
    })),
  };
}

/** The parts of a checkpoint that its memory depends on. */
type PlannedTextCheckpoint = RunnerCheckpoint &
  Pick<PlannedCheckpoint, 'declaration' | 'generationConfig' | 'config'> & {
    media?: RunnerMedia | null;
    draft?: DraftModelSource | null;
  };

/** A checkpoint that is opened, on devices with the properties of another that compute nothing. */
export function paperText(
  device: Device,
  checkpoint: Omit<PlannedTextCheckpoint, 'declaration'>,
  declaration: TextDeclaration,
  options: TextModelOptions,
): PaperModel {
  const place = { openDevice: (budget: number) => openPaperTwin(device, budget) };
  const { choices } = weightBytesIn(device, checkpoint.tensors, declaration.generate!);
  return new PaperText(place, { ...checkpoint, declaration }, options, choices);
}

/** Tokens that end replies, and those that replies never have. */
function ownBiases(checkpoint: PlannedTextCheckpoint): number {
  const { length } = suppressedTokens(checkpoint, checkpoint.declaration.vocabulary);
  return Math.max(1, configuredEndTokens(checkpoint).length) + length;
}

class PaperText implements PaperModel {
  readonly quantizations: readonly PlannedQuantization[];
  readonly contextLength: number;
  readonly mayStream: boolean;
  readonly mayHostExperts: boolean;
  readonly #asked: AskedBeside;
  readonly #place: Pick<PlanPlace, 'openDevice'>;
  readonly #checkpoint: PlannedTextCheckpoint;
  readonly #options: TextModelOptions;
  readonly #opened = new Map<PlannedQuantization, OpenedRunner>();

  constructor(
    place: Pick<PlanPlace, 'openDevice'>,
    checkpoint: PlannedTextCheckpoint,
    options: TextModelOptions,
    quantizations: readonly PlannedQuantization[],
  ) {
    const { contextLength = Infinity, maxTotalTokens = Infinity } = options;
    const { declaration } = checkpoint;
    this.quantizations = quantizations;
    this.contextLength = Math.min(contextLength, maxTotalTokens, declaration.context);
    this.#asked = askedBeside(options, declaration);
    this.mayStream = !this.#asked.layerwiseOffload;
    this.mayHostExperts = declaration.experts !== null && this.#asked.expertLayers === 0;
    this.#options = options;
    this.#place = place;
    this.#checkpoint = checkpoint;
  }

  /** Returns the runner in a quantization that the model was opened with last. */
  opened(quantization: PlannedQuantization): OpenedRunner {
    return this.#opened.get(quantization)!;
  }

  /** Pages beyond one context are of use and not needed. */
  async least(settings: PaperSettings): Promise<number> {
    const least = { maxTotalTokens: settings.contextLength!, isLeast: true };
    return (await this.open(Number.MAX_SAFE_INTEGER, settings, least)).bytes;
  }

  async open(
    memoryBudget: number,
    { quantization, contextLength, ...settings }: PaperSettings,
    {
      maxTotalTokens = this.#options.maxTotalTokens,
      isLeast = false,
    }: { maxTotalTokens?: number; isLeast?: boolean } = {},
  ): Promise<PaperOpening> {
    const { declaration } = this.#checkpoint;
    const device = this.#place.openDevice(memoryBudget);
    // A limit on the tokens of all requests shortens a context that is opened, and not the sizes of its steps.
    const opened = contextLength === this.contextLength ? this.#options.contextLength : contextLength!;
    const options = {
      ...runnerSizes(device, declaration, {
        ...this.#options,
        slots: this.#options.maxRunningRequests ?? DEFAULTS.runningRequests,
        contextLength: opened,
        maxTotalTokens,
        ownBiases: ownBiases(this.#checkpoint),
      }),
      ...{ quantization, kept: null, packed: null, loras: () => Promise.resolve() },
      media: this.#checkpoint.media ?? null,
      draft: this.#checkpoint.draft ?? null,
    };
    const asked = this.#askedWith(settings);
    const beside = isLeast
      ? leastBeside(asked)
      : await placedBeside(device, this.#checkpoint, declaration, options, asked);
    const runner = await openPaperRunner(device, this.#checkpoint, declaration, { ...options, ...beside });
    const { layout, copyBytes, kvFormat, streaming, weightFormats } = runner;
    this.#opened.set(quantization, { layout, copyBytes, kvFormat, streaming, weightFormats });
    const { weights, arena, step } = device.memory();
    const scratch = arena + step + runner.stateBytes;
    return { weights, scratch, bytes: device.memoryUsed, contextLength: runner.contextLength };
  }
  #askedWith({
    layerwiseOffload,
    cpuMoe = false,
  }: Pick<PaperSettings, 'layerwiseOffload' | 'cpuMoe'>): AskedBeside {
    const asked = this.#asked;
    return {
      ...asked,
      layerwiseOffload: layerwiseOffload ?? asked.layerwiseOffload,
      expertLayers: cpuMoe ? Infinity : asked.expertLayers,
    };
  }
}
