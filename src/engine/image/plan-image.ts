// Plans an image pipeline: the engine's own stages draw an image of the model's own size on devices that compute nothing, with weights
// that are not read.

import { bytesText } from '../../files/bytes-text.ts';
import { countText } from '../../files/count-text.ts';
import { badRequest, EngineError } from '../../files/error.ts';
import { option, say, type Prose } from '../../files/message.ts';
import type { Weights } from '../../files/checkpoint/shards.ts';
import { openPipeline, type Pipeline } from '../../files/pipeline/pipeline-index.ts';
import type { Device } from '../../gpu/device.ts';
import type { Quantization } from '../opening/open-event.ts';
import { firstFitting, withinBudget } from '../plan/first-fitting.ts';
import type { PlannedComponent, PlannedQuantization, PlanOptions } from '../plan/model-plan.ts';
import type { OpenOnPaper, PaperModel, PaperOpening, PaperSettings, PlanPlace } from '../plan/paper-model.ts';
import { weightsOf, type PlannedPage } from '../plan/planned-weights.ts';
import type { PackedCache } from '../platform/platform.ts';
import {
  formatOf,
  parametersOf,
  planWeights,
  type WeightPlanOptions as LayoutOptions,
} from '../weights/plan.ts';
import { planOptionsOf } from '../weights/plan-options.ts';
import { QUANTIZATIONS } from '../weights/quantization.ts';
import { rolesOf } from './components/residency.ts';
import { plainRequest, withBatch } from './draw-request.ts';
import { knownPipelines, pipelineEntry } from './families/registry.ts';
import { drawTwice } from './paper-drawing.ts';
import { openFamily } from './open-family.ts';
import { openOnDevice, type OpenedPipeline } from './opened-pipeline.ts';
import {
  checkWeightNames,
  componentHeaders,
  configuredHeaders,
  PageCollector,
  PLANNED_TOKENIZER,
  PROMPT_TOKENS,
} from './planned-components.ts';
import { resolveRequest } from './request/resolve.ts';
import { ResidencySearch, UNLIMITED } from './residency-search.ts';
import type { Resolved } from './stages/resolved.ts';

export const openImageOnPaper: OpenOnPaper = async (path, options, place, note) => {
  refuseContext(options);
  const pipeline = await openPipeline(path, place.openFolder, knownPipelines());
  const { pages, weights, names } = await readComponents(pipeline, place);
  const { memoryBudget, quantization = 'none' } = options;
  const model = new PaperImage(place, pipeline, weights, options);
  return {
    model,
    choose: () => model.choose(memoryBudget, quantization, note),
    describe(asked) {
      note(
        `weights and the memory beside them are those of the stage that takes most while ${model.drawn} is drawn by a prompt of ${PROMPT_TOKENS} tokens`,
      );
      const device = place.openDevice(memoryBudget);
      const components = names.map((name) =>
        plannedComponent(pipeline, name, pages, weights.get(name), device),
      );
      const atOnce = (asked && model.atOnce.get(asked.quantization)) ?? 1;
      if (atOnce > 1) note(`up to ${countText(atOnce, 'result')} of requests of one shape are drawn at once`);
      const isStored = asked === undefined || asked.quantization === 'none';
      const more = isStored ? winogradNote(components) : null;
      if (more !== null) note(more);
      return { kind: 'image', architecture: pipeline.className, ...weightsOf(pages), components };
    },
  };
};

function refuseContext({ contextLength, model }: PlanOptions): void {
  if (contextLength === undefined) return;
  throw badRequest(
    say`${option('contextLength')} is ${contextLength}, and ${model} draws images, which have no context: leave it out`,
    'contextLength',
  );
}

/** Pages of all components with their headers. `names`: components that have weights. */
async function readComponents(
  pipeline: Pipeline,
  place: PlanPlace,
): Promise<{ pages: readonly PlannedPage[]; weights: Map<string, Weights>; names: string[] }> {
  const models = Object.values(pipeline.components).filter(({ kind }) => kind === 'model');
  const names = models.map(({ name }) => name);
  const stored = place.configsOnly ? null : await componentHeaders(pipeline, names);
  if (stored === null) await checkWeightNames(pipeline, names);
  const collector = new PageCollector(place.openDevice(0), pipeline, stored ?? new Map());
  await openFamily(pipelineEntry(pipeline.className).family, collector, pipeline);
  const { pages } = collector;
  return { pages, weights: stored ?? configuredHeaders(pipeline, pages), names };
}

/** Share by which a budget that is too small is raised, and the number of attempts. */
const STEP = 1 / 8;
const TRIALS = 8;

/** Layers may be in a file, which a plan does not read. */
const UNREAD_CACHE: PackedCache = {
  slot: () => Promise.reject(new Error('a plan reads no packed weights')),
};

class PaperImage implements PaperModel {
  readonly quantizations = QUANTIZATIONS;
  readonly contextLength = null;
  readonly #place: PlanPlace;
  readonly #pipeline: Pipeline;
  readonly #weights: ReadonlyMap<string, Weights>;
  readonly #options: PlanOptions;
  readonly #least = new Map<PlannedQuantization, number>();
  /** Results that are drawn at once within the budget that was asked for. */
  readonly atOnce = new Map<PlannedQuantization, number>();
  #drawn = '';

  constructor(
    place: PlanPlace,
    pipeline: Pipeline,
    weights: ReadonlyMap<string, Weights>,
    options: PlanOptions,
  ) {
    this.#place = place;
    this.#pipeline = pipeline;
    this.#weights = weights;
    this.#options = options;
  }

  /** What was drawn, for example "an image of 512 × 512". */
  get drawn(): string {
    return this.#drawn;
  }

  /** Returns the quantization that the pipeline is opened with. Throws out_of_memory if `auto` finds none that fits. */
  async choose(
    memoryBudget: number,
    asked: Quantization,
    onNote: (message: Prose) => void,
  ): Promise<PlannedQuantization> {
    return (await this.#openPaper(memoryBudget, asked, onNote)).components.quantization;
  }

  async open(memoryBudget: number, { quantization }: PaperSettings): Promise<PaperOpening> {
    const paper = await this.#openPaper(memoryBudget, quantization);
    const { device, components } = paper;
    const resolved = this.#request(paper);
    const whole = withBatch(paper, resolved, device.profile.imagesAtOnce);
    const tellsBatch = memoryBudget === this.#options.memoryBudget && (whole.batch ?? 1) > 1;
    const search = this.#search(paper, quantization);
    const found = !components.isSmall || tellsBatch ? await search.within(memoryBudget, resolved) : null;
    if (!components.isSmall) {
      if (!found) throw new EngineError('out_of_memory', `${this.#drawn} pixels does not fit the budget`);
      components.reside(found.residencies);
      device.prefetch = found.prefetch;
    }
    await drawTwice(paper, resolved, () => {});
    const { bytes, weights } = device.highestMemory;
    if (found && tellsBatch) {
      const { batch } = await search.batched(memoryBudget, whole, { ...found, batch: 1 });
      this.atOnce.set(quantization, batch);
    }
    return { weights, scratch: bytes - weights, bytes, contextLength: null };
  }

  async least({ quantization }: PaperSettings): Promise<number> {
    const known = this.#least.get(quantization);
    if (known !== undefined) return known;
    const paper = await this.#openPaper(UNLIMITED, quantization);
    const least = await this.#search(paper, quantization).least(this.#request(paper));
    this.#least.set(quantization, least);
    return least;
  }

  /** The forms of convolutions, and what stays on the device, depend on the budget, so that a larger one may be needed than the least. */
  async unlimited(settings: PaperSettings): Promise<PaperOpening> {
    const least = await this.least(settings);
    const budgets = Array.from({ length: TRIALS }, (_, trial) => Math.ceil(least * (1 + STEP) ** trial));
    const open = (budget: number) => withinBudget(() => this.open(budget, settings));
    return (await firstFitting(budgets, open)) ?? this.open(UNLIMITED, settings);
  }

  #request({ context }: OpenedPipeline): Resolved {
    const { width, height, frames } = this.#options;
    const asked = Object.entries({ width, height, frames }).filter(([, value]) => value !== undefined);
    const request = { ...plainRequest(context), ...Object.fromEntries(asked) };
    const resolved = resolveRequest(request, context);
    const { values } = resolved.event;
    const clip = values.frames > 1 ? `a clip of ${values.frames} frames` : 'an image';
    this.#drawn = `${clip} of ${values.width} × ${values.height}`;
    return resolved;
  }

  #search({ components, context }: OpenedPipeline, quantization: PlannedQuantization): ResidencySearch {
    return new ResidencySearch({
      roles: rolesOf(components, context.pipeline.family),
      asked: new Map(),
      prefetch: 1,
      openPaper: (memoryBudget) => this.#openPaper(memoryBudget, quantization),
    });
  }

  #openPaper(
    memoryBudget: number,
    quantization: Quantization,
    onNote: (message: Prose) => void = () => {},
  ): Promise<OpenedPipeline> {
    const device = this.#place.openDevice(memoryBudget);
    return openOnDevice(
      device,
      { openFolder: this.#place.openFolder, packed: UNREAD_CACHE },
      this.#pipeline,
      { model: this.#options.model, quantization },
      (event) => {
        if (event.type === 'note') onNote(event.parts ? { parts: event.parts } : event.message);
      },
      { weights: this.#weights, tokenizer: () => Promise.resolve(PLANNED_TOKENIZER) },
    );
  }
}

/** Pages of one component are on the device one after another. */
function plannedComponent(
  pipeline: Pipeline,
  name: string,
  pages: readonly PlannedPage[],
  weights: Weights | undefined,
  device: Device,
): PlannedComponent {
  const own = pages.filter(({ component }) => component === name);
  const storedBytes = [...(weights?.tensors.values() ?? [])].reduce((sum, { bytes }) => sum + bytes, 0);
  const most = (quantization: PlannedQuantization, plain: boolean): number => {
    const options = planOptionsOf(device, storedBytes, { format: formatOf(quantization), plain });
    return Math.max(...own.map((page) => pageBytes(page, options)));
  };
  const bytes = Object.fromEntries(
    QUANTIZATIONS.map((quantization) => [quantization, most(quantization, false)]),
  ) as PlannedComponent['weights'];
  return {
    name,
    className: pipeline.components[name]!.className,
    parameters: parametersOf(own.flatMap(({ requests }) => requests)),
    weights: bytes,
    winograd: bytes.none - most('none', true),
  };
}

function pageBytes({ requests, tensors }: PlannedPage, options: LayoutOptions): number {
  return planWeights(requests, (tensor) => tensors.get(tensor)!.dtype, options).bytes;
}

/** Why the weights on the device are more than those that are stored. */
function winogradNote(components: readonly PlannedComponent[]): string | null {
  const added = components.reduce((sum, { winograd }) => sum + winograd, 0);
  if (added === 0) return null;
  return `unless they are quantized, convolutions are kept in Winograd's form, which is faster on this adapter and takes ${bytesText(added)} more than the stored weights; a budget of less than 8 times a component's weights leaves it out`;
}
