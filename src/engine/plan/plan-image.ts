// Plans an image pipeline: an image of the model's own size is drawn on devices that compute nothing, with weights that are not read.

import { bytesText } from '../../files/bytes-text.ts';
import { EngineError } from '../../files/error.ts';
import { noteOf, option, say, type Note, type Prose } from '../../files/message.ts';
import type { Weights } from '../../files/checkpoint/shards.ts';
import { openPipeline, type Pipeline } from '../../files/pipeline/pipeline-index.ts';
import type { Device } from '../../gpu/device.ts';
import type { FamilyModel } from '../image/blocks/family.ts';
import { knownPipelines, pipelineEntry } from '../image/families/registry.ts';
import { formatOf, parametersOf, planWeights, type PlanOptions as LayoutOptions } from '../weights/plan.ts';
import { planOptionsOf } from '../weights/plan-options.ts';
import { QUANTIZATIONS } from '../weights/quantization.ts';
import type { ModelPlan, PlannedComponent, PlannedQuantization, PlanOptions } from './model-plan.ts';
import type { PlanPlace } from './plan-place.ts';
import {
  checkWeightNames,
  componentHeaders,
  configuredHeaders,
  PageCollector,
  PROMPT_TOKENS,
  type PlannedPage,
} from './planned-components.ts';
import { PlannedImage } from './planned-image.ts';
import { PlannedOpenings } from './planned-model.ts';

/** Throws what opening the pipeline throws about its files and its configurations, and bad_request for a context length. */
export async function planImage(
  path: string,
  options: PlanOptions & { memoryBudget: number },
  place: PlanPlace,
): Promise<ModelPlan> {
  refuseContext(options);
  const pipeline = await openPipeline(path, place.openFolder, knownPipelines());
  const { pages, weights, names } = await readComponents(pipeline, place);
  const notes: Note[] = [];
  const note = (message: Prose): void => void notes.push(noteOf(message));
  const { memoryBudget: budget, model } = options;
  const planned = new PlannedImage(place, pipeline, weights, model);
  const quantization = await planned.choose(budget, options.quantization ?? 'none', note);
  const fit = await new PlannedOpenings(planned, budget, place.memory).fit(quantization, null);
  note(
    `weights and the memory beside them are those of the stage that takes most while an image of ${planned.size} is drawn by a prompt of ${PROMPT_TOKENS} tokens`,
  );
  const device = place.openDevice(budget);
  const components = names.map((name) => plannedComponent(pipeline, name, pages, weights.get(name), device));
  const isStored = quantization === null || quantization === 'none';
  const more = isStored ? winogradNote(components) : null;
  if (more !== null) note(more);
  return {
    model,
    kind: 'image',
    architecture: pipeline.className,
    wrapper: null,
    media: [],
    parameters: parametersOf(pages.flatMap(({ requests }) => requests)),
    stored: storedTypes(pages),
    ignored: ignoredModules(pages),
    notes,
    contextLength: null,
    cache: null,
    components,
    budget,
    ...fit,
  };
}

function refuseContext({ contextLength, model }: PlanOptions): void {
  if (contextLength === undefined) return;
  throw new EngineError(
    'bad_request',
    say`${option('contextLength')} is ${contextLength}, and ${model} draws images, which have no context: leave it out`,
    { param: 'contextLength' },
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
  const { family } = pipelineEntry(pipeline.className);
  const autoencoder = family.readAutoencoder(collector.get(family.autoencoder));
  const runner: FamilyModel = family.open(collector, pipeline);
  await runner.checkFiles();
  for (const build of [autoencoder.decoder, autoencoder.encoder]) collector.check(family.autoencoder, build);
  const { pages } = collector;
  return { pages, weights: stored ?? configuredHeaders(pipeline, pages), names };
}

function storedTypes(pages: readonly PlannedPage[]): string[] {
  const types = pages.flatMap(({ requests, tensors }) =>
    requests.flatMap(({ names }) => names.map((name) => tensors.get(name)!.dtype)),
  );
  return [...new Set(types)];
}

function ignoredModules(pages: readonly PlannedPage[]): ModelPlan['ignored'] {
  const modules = pages.flatMap(({ component, unread }) =>
    unread.names.map((name) => `${component}/${name}`),
  );
  const tensors = pages.reduce((sum, { unread }) => sum + unread.tensors, 0);
  return { modules: [...new Set(modules)], tensors };
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
