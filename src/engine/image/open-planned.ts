// Opens a pipeline whose memory is planned: what its options ask for, the changes with which a request may fit, and the device on paper on
// which plans are drawn.

import { noteOf, option, say, type Prose } from '../../files/message.ts';
import { openPaperTwin } from '../../gpu/paper-device.ts';
import { QUANTIZED_FORMATS, type QuantizedFormat } from '../../kernels/formats.ts';
import { layerNames } from '../weights/layers.ts';
import type { ImageModelOptions } from './calls/image-model.ts';
import { orClose } from './components/component-files.ts';
import type { Components } from './components/components.ts';
import {
  askedResidencies,
  ineffectiveOffload,
  leavableOptions,
  rolesOf,
  withoutOptions,
  type OffloadOptions,
} from './components/residency.ts';
import { MemoryPlanner, type Asked } from './memory-planner.ts';
import { openOnDevice, type OpenedPipeline } from './opened-pipeline.ts';
import { UNLIMITED } from './residency-search.ts';

/** Opens a pipeline whose memory is planned. Errors: those of openOnDevice, and bad_request for options of offloading without effect. */
export async function openWithMemoryPlan(...given: OpenArguments): Promise<OpenedPipeline> {
  const opened = await openOnDevice(...given);
  const [, , , options, onEvent] = given;
  const note = ineffectiveOffload(options, rolesOf(opened.components, opened.context.pipeline.family));
  if (note !== null) onEvent(noteOf(note));
  return orClose(
    () => opened.components.close(),
    () => Promise.resolve({ ...opened, memory: memoryPlanner(opened, given) }),
  );
}

type OpenArguments = Parameters<typeof openOnDevice>;

function memoryPlanner(
  opened: OpenedPipeline,
  [, platform, pipeline, options]: OpenArguments,
): MemoryPlanner {
  const { device, components, context, plain } = opened;
  const { family } = context.pipeline;
  const roles = rolesOf(components, family);
  const isF32 = plain || options.allF32 === true;
  const larger = [...QUANTIZED_FORMATS].indexOf(components.quantization as QuantizedFormat);
  const askedBy = (some: ImageModelOptions): Asked => ({
    asked: askedResidencies(some, roles),
    mayStream: some.ditLayerwiseOffload !== false,
    prefetch: prefetchOf(some, components, family.denoiser),
  });
  const asked = askedBy(options);
  return new MemoryPlanner(opened, {
    roles,
    ...asked,
    isBatchFixed: options.batchSize !== undefined,
    changes: [
      ...leavableOptions(options).map((names) => ({
        text: leaveText(names),
        asked: askedBy(withoutOptions(options, names)),
        quantization: components.quantization,
      })),
      ...(isF32 ? [] : QUANTIZED_FORMATS.slice(larger + 1)).map((quantization) => ({
        text: say`choose ${option('quantization')} ${quantization}`,
        asked,
        quantization,
      })),
    ],
    // The files that are open already are read on, and their headers alone.
    openPaper: (memoryBudget, quantization) =>
      openOnDevice(
        openPaperTwin(device, memoryBudget, memoryBudget < UNLIMITED ? device.host.budget : Infinity),
        platform,
        pipeline,
        { ...options, quantization },
        () => {},
        {
          weights: new Map(components.names.map((name) => [name, components.filesOf(name)])),
          tokenizer: (name) => components.tokenizer(name),
          memoryBudget: device.memoryBudget,
        },
      ),
  });
}

/** Layers by which copies precede their use; a share counts those of the denoiser. */
function prefetchOf(
  { ditOffloadPrefetch = 1 }: ImageModelOptions,
  components: Components,
  denoiser: string,
): number {
  if (ditOffloadPrefetch >= 1) return Math.round(ditOffloadPrefetch);
  return Math.round(ditOffloadPrefetch * layerNames(components.filesOf(denoiser).tensors.keys()).length);
}

function leaveText(names: readonly (keyof OffloadOptions)[]): Prose {
  const [first, ...others] = names.map((name) => option(name));
  return others.reduce<Prose>((all, name) => say`${all} and ${name}`, say`leave out ${first!}`);
}
