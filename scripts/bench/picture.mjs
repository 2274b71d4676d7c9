// Whole images as a user generates them: the events of the image engine with their times.

import { availableParallelism } from 'node:os';
import { IMAGE } from '../../dist/host/kinds/image.js';
import { openInline } from '../../dist/host/open.js';
import { nodePlatform } from '../../dist/host/node/platform.js';
import { countPipelines } from './step.mjs';

/** Opens the model in this thread as the public interface does, and counts the pipelines that its device creates. */
export async function openCounted(folder) {
  let pipelines;
  const platform = {
    ...nodePlatform,
    async openDevice(options) {
      const device = await nodePlatform.openDevice(options);
      pipelines = countPipelines(device.gpu);
      return device;
    },
  };
  const begun = now();
  const model = await openInline(IMAGE, platform, { model: folder });
  return { model, ready: since(begun), pipelines };
}

/**
 * Generates one image. Times are { wall, quiet } in milliseconds, quiet as if all cores had been idle: `step` is the fastest except
 * the first, which also records and loads; `stages` by name, each with its peak of bytes.
 */
export async function drawTimed(model, request) {
  const begun = now();
  const steps = [];
  const stages = {};
  let last = begun;
  let values;
  for await (const event of model.generate(request)) {
    if (event.type === 'resolved') ({ values } = event);
    if (event.type === 'step') steps.push(now());
    if (event.type === 'stage') {
      stages[event.name] = { ...since(last), peakBytes: event.peakBytes };
      last = now();
    }
  }
  const between = steps.slice(1).map((moment, i) => difference(moment, steps[i]));
  return { values, total: since(begun), step: between.length > 0 ? between.reduce(least) : null, stages };
}

/** The shortest times and the highest peaks over images of equal requests: components that stay on the device are all there from the second on. */
export function fastest(pictures) {
  const [first] = pictures;
  const of = (pick) => pictures.map(pick).reduce(least);
  const stages = Object.keys(first.stages).map((name) => {
    const peakBytes = Math.max(...pictures.map((picture) => picture.stages[name].peakBytes));
    return [name, { ...of((picture) => picture.stages[name]), peakBytes }];
  });
  return {
    values: first.values,
    total: of(({ total }) => total),
    step: of(({ step }) => step),
    stages: Object.fromEntries(stages),
  };
}

/** Milliseconds of wall time, and of CPU time divided by the number of cores. */
function now() {
  const { user, system } = process.cpuUsage();
  return { wall: performance.now(), quiet: (user + system) / 1000 / availableParallelism() };
}

function since(begun) {
  return difference(now(), begun);
}

function difference(a, b) {
  return { wall: a.wall - b.wall, quiet: a.quiet - b.quiet };
}

function least(a, b) {
  return { wall: Math.min(a.wall, b.wall), quiet: Math.min(a.quiet, b.quiet) };
}
