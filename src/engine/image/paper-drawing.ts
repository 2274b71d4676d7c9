// Draws requests on devices that compute nothing, with weights that are not read, to measure the memory of each stage.

import type { PageBytes } from './components/residency.ts';
import { drawOn } from './draw-request.ts';
import type { ImageEvent, StageName } from './calls/image-model.ts';
import type { OpenedPipeline } from './opened-pipeline.ts';
import type { Residencies } from './components/residency.ts';
import type { Resolved } from './stages/resolved.ts';

/** Bytes of memory that an image takes. */
export interface Measured {
  stages: ReadonlyMap<StageName, number>;
  peak: number;
  /** Bytes in host memory. */
  host: number;
  /** Bytes of each component's weights. */
  weights: ReadonlyMap<string, PageBytes>;
}

/** Steps that are drawn, the last among them: schedules keep at most four earlier outputs. */
const STEPS = 6;

const SILENT = { kernels: () => {}, trials: () => {}, note: () => {} };
const UNTUNED = { keepTuned: () => Promise.resolve() };

/** Returns the peaks of an image. Throws out_of_memory. */
export async function measure(
  paper: OpenedPipeline,
  resolved: Resolved,
  residencies: Residencies,
  prefetch: number,
): Promise<Measured> {
  const { components, device } = paper;
  components.reside(residencies);
  device.prefetch = prefetch;
  device.host.takePeak();
  const stages = new Map<StageName, number>();
  await drawTwice(paper, resolved, (event) => {
    if (event.type !== 'stage') return;
    stages.set(event.name, Math.max(stages.get(event.name) ?? 0, event.peakBytes));
  });
  const weights = new Map(components.names.map((name) => [name, components.weightBytes(name)]));
  return { stages, peak: Math.max(...stages.values()), host: device.host.takePeak(), weights };
}

/** Draws two images: all components that stay on the device are there only during the second. Throws out_of_memory. */
export async function drawTwice(
  paper: OpenedPipeline,
  resolved: Resolved,
  emit: (event: ImageEvent) => void,
): Promise<void> {
  for (let image = 0; image < 2; image++)
    await drawOn(paper, UNTUNED, resolved, emit, { report: SILENT, mostSteps: STEPS, onPaper: true });
}
