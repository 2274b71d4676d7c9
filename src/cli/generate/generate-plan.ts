// The memory plan of `svc generate --plan` as text: what each stage takes, and where the weights of each component are.

import { bytesText } from '../../files/bytes-text.ts';
import { countText } from '../../files/count-text.ts';
import type { ImageMemoryPlan } from '../../index.ts';

type Component = ImageMemoryPlan['components'][number];

/** Returns the plan in lines. */
export function memoryPlanText({
  budget,
  batch,
  peak,
  host,
  stages,
  components,
  prefetch,
}: ImageMemoryPlan): string {
  const rows: [name: string, text: string][] = [
    ...components.map((component): [string, string] => [component.name, placeText(component, prefetch)]),
    ...stages.map(({ name, bytes }): [string, string] => [name, `${bytesText(bytes)} on the device`]),
    ['drawn at once', countText(batch, 'result')],
    ['peak', `${bytesText(peak)} of a budget of ${bytesText(budget)}`],
    ...(host === 0 ? [] : [['host memory', bytesText(host)] satisfies [string, string]]),
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `${name.padEnd(width)}  ${text}`).join('\n');
}

function placeText(
  { className, weights, place, onDevice = 0, fromFile = 0 }: Component,
  prefetch: number | null,
): string {
  const size = `${className}, ${bytesText(weights)}`;
  switch (place) {
    case 'resident':
      return `${size}: stays on the device`;
    case 'loaded':
      return `${size}: read from its files for its stages`;
    case 'offloaded':
      return `${size}: copied from host memory for its stages`;
    case 'streamed':
      return `${size}: ${bytesText(onDevice)} of it on the device for its stages, the layers of the rest ${sourceText(weights - onDevice, fromFile)} in turn, ${prefetch} ahead`;
  }
}

/** Tells where layers come from. */
function sourceText(bytes: number, fromFile: number): string {
  if (fromFile === 0) return 'copied from host memory';
  if (fromFile >= bytes) return 'read from the file';
  return `copied from host memory (${bytesText(bytes - fromFile)}) and read from the file (${bytesText(fromFile)})`;
}
