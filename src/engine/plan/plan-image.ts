// Plans an image pipeline: the weights of each component by its pages' requests, and what decoding an image takes beside them, as the
// engine records it on a device that computes nothing.

import { openPipeline, type Pipeline } from '../../files/pipeline/pipeline-index.ts';
import type { Device } from '../../gpu/device.ts';
import { Tape } from '../../gpu/tape.ts';
import { allocateTensor } from '../image/compute.ts';
import { defaultsOf } from '../image/families/defaults.ts';
import { knownPipelines, pipelineEntry } from '../image/families/registry.ts';
import type { Autoencoder } from '../image/autoencoder.ts';
import { modelName } from '../text/defaults.ts';
import { collect } from '../weights/collect.ts';
import { placeWeights } from '../weights/place.ts';
import { formatOf, parametersOf, planWeights } from '../weights/plan.ts';
import { QUANTIZATIONS } from '../weights/quantization.ts';
import { fit } from './fit.ts';
import type { ModelPlan, PlannedComponent, PlannedQuantization, PlanOptions } from './model-plan.ts';
import type { PlanPlace } from './plan-place.ts';
import { componentHeaders, PlannedComponents, type PlannedPage } from './planned-components.ts';

/** Latents along a side where neither the checkpoint nor its family says. */
const USUAL_LATENTS = 64;

export async function planImage(
  path: string,
  options: PlanOptions & { memoryBudget: number },
  { openFolder, openDevice }: PlanPlace,
): Promise<ModelPlan> {
  const pipeline = await openPipeline(path, openFolder, knownPipelines());
  const device = openDevice(Number.MAX_SAFE_INTEGER);
  const entry = pipelineEntry(pipeline.className);
  const { family } = entry;
  const models = Object.values(pipeline.components).filter(({ kind }) => kind === 'model');
  const names = models.map(({ name }) => name);
  const components = new PlannedComponents(device, pipeline, await componentHeaders(pipeline, names));
  const autoencoder = family.readAutoencoder(components.get(family.autoencoder));
  const runner = family.open(components, pipeline);
  await runner.checkFiles();
  for (const build of [autoencoder.decoder, autoencoder.encoder]) components.check(family.autoencoder, build);

  const { pages } = components;
  const planned = names.map((name) => plannedComponent(pipeline, device, name, pages));
  const { defaults } = defaultsOf(entry, pipeline.components, modelName(options.model));
  const latents = latentsOf(autoencoder, runner.sampleSize, defaults.size);
  const scratch = decodingBytes(
    device,
    pages.find(({ component }) => component === family.autoencoder)!,
    autoencoder,
    latents,
  );
  const bytesFor = (quantization: PlannedQuantization): number =>
    Math.max(
      ...planned.map(
        ({ name, weights }) => weights[quantization] + (name === family.autoencoder ? scratch : 0),
      ),
    );
  const choices = QUANTIZATIONS.map((quantization) => ({
    quantization,
    weights: Math.max(...planned.map(({ weights }) => weights[quantization])),
    scratch,
    contextLength: null,
    opens: bytesFor(quantization) <= options.memoryBudget,
  }));
  const [, rows, columns] = latents;
  const size = `${columns * autoencoder.factor} × ${rows * autoencoder.factor}`;
  return {
    model: options.model,
    kind: 'image',
    architecture: pipeline.className,
    wrapper: null,
    parameters: planned.reduce((sum, { parameters }) => sum + parameters, 0),
    stored: storedTypes(pages),
    source: pages.every(({ headers }) => headers.source === 'headers') ? 'headers' : 'config',
    ignored: ignoredModules(pages),
    notes: [
      `components are on the device one after another; scratch is what decoding an image of ${size} takes, intermediates of the other components are not counted`,
    ],
    contextLength: null,
    cache: null,
    components: planned,
    choices,
    budget: options.memoryBudget,
    ...fit(choices, { quantization: options.quantization ?? 'none', contextLength: null }, bytesFor),
  };
}

/** The shape of latents of an image at the model's own size; `pixels`: its side, where the family or the name says. */
function latentsOf(
  { factor, latentChannels }: Autoencoder,
  sampleSize: { height: number; width: number } | null,
  pixels: number | undefined,
): [number, number, number, number] {
  const { height = USUAL_LATENTS, width = USUAL_LATENTS } = sampleSize ?? {};
  const side = pixels === undefined ? null : pixels / factor;
  return [1, side ?? height, side ?? width, latentChannels];
}

function storedTypes(pages: readonly PlannedPage[]): string[] {
  const types = pages.flatMap(({ requests, headers }) =>
    requests.flatMap(({ names }) => names.map((name) => headers.tensors.get(name)!.dtype)),
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
  device: Device,
  name: string,
  pages: readonly PlannedPage[],
): PlannedComponent {
  const own = pages.filter(({ component }) => component === name);
  const weightsIn = (quantization: PlannedQuantization): number =>
    Math.max(
      ...own.map(
        ({ requests, headers }) =>
          planWeights(requests, (tensor) => headers.tensors.get(tensor)!.dtype, {
            format: formatOf(quantization),
            bindingLimit: device.capabilities.bindingLimit,
            winograd: false,
          }).bytes,
      ),
    );
  return {
    name,
    className: pipeline.components[name]!.className,
    parameters: parametersOf(own.flatMap(({ requests }) => requests)),
    weights: Object.fromEntries(
      QUANTIZATIONS.map((quantization) => [quantization, weightsIn(quantization)]),
    ) as PlannedComponent['weights'],
  };
}

/** Bytes of intermediates, latents and the image while it is decoded. */
function decodingBytes(
  device: Device,
  { headers: { tensors } }: PlannedPage,
  autoencoder: Autoencoder,
  latents: number[],
): number {
  const { page, requests, handles } = collect(tensors, autoencoder.decoder);
  const plan = planWeights(requests, (name) => tensors.get(name)!.dtype, {
    format: null,
    bindingLimit: device.capabilities.bindingLimit,
    winograd: false,
  });
  placeWeights(device, plan, handles);
  const tape = new Tape(device, {});
  const input = allocateTensor(device, 'latents', latents);
  const image = tape.keep(page(input.on(tape), {}));
  tape.finish();
  device.arena.settle();
  const { arena, step } = device.memory();
  return arena + step + image.heldBytes({});
}
