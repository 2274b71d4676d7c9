// The passes of guidance where each is computed by a device of its own: the texts of this device's pass, and the predictions of all.

import type { Device } from '../../../gpu/device.ts';
import { tapeOf } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import type { Exchange } from '../../async/exchange.ts';
import { allocateTensor } from '../recording/compute.ts';
import type { Scope } from '../recording/scope.ts';
import type { TextStates } from './family.ts';

/** Returns the texts whose passes this device computes; `scope` owns those that are copied. Without an exchange: all. */
export function ownTexts(
  device: Device,
  scope: Scope,
  texts: readonly TextStates[],
  exchange: Exchange | undefined,
): readonly TextStates[] {
  if (!exchange) return texts;
  if (texts.length > 1) return [texts[exchange.rank]!];
  const [{ states, pooled, further, ...rest }] = texts as [TextStates];
  const own = (x: Tensor): Tensor => ownItems(device, scope, x, exchange);
  return [
    {
      ...rest,
      states: own(states),
      ...(pooled && { pooled: own(pooled) }),
      ...(further && { further: own(further) }),
    },
  ];
}

/** Returns this device's share of the items of a batch, in which those of the prompts come last; `scope` owns it. */
export function ownItems(device: Device, scope: Scope, x: Tensor, { rank, ranks }: Exchange): Tensor {
  const [items, ...rest] = x.shape as [number, ...number[]];
  if (items % ranks !== 0) throw new Error(`${items} items are not divided among ${ranks} ranks`);
  const own = scope.hold(allocateTensor(device, 'inputs of a pass', [items / ranks, ...rest]));
  const bytes = x.bytes({}) / ranks;
  const { buffer, offset } = x.region!;
  const encoder = device.gpu.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, offset + (ranks - 1 - rank) * bytes, own.region!.buffer, 0, bytes);
  device.gpu.queue.submit([encoder.finish()]);
  return own;
}

/** Returns the predictions of all passes, that of the prompt first. `own`: the one of this device; without an exchange: all. */
export function allPredictions(own: readonly Tensor[], exchange: Exchange | undefined): readonly Tensor[] {
  if (!exchange) return own;
  const [x] = own as [Tensor];
  const tape = tapeOf(x);
  const all = Array.from({ length: exchange.ranks }, () => tape.tensor(x.shape));
  tape.meet({ from: [x], into: all, exchange: (bytes) => exchange.allGather(bytes) });
  return all;
}

/** Returns the predictions of all passes as items of one batch, those of the prompts last. `own`: as for allPredictions; x [items, …] */
export function joinedPredictions(own: Tensor, exchange: Exchange | undefined): Tensor {
  if (!exchange) return own;
  const [items, ...rest] = own.shape as [number, ...number[]];
  const tape = tapeOf(own);
  const all = tape.tensor([exchange.ranks * items, ...rest]);
  tape.meet({
    from: [own],
    into: [all],
    exchange: async (bytes) => [joinBytes((await exchange.allGather(bytes)).toReversed())],
  });
  return all;
}

function joinBytes(parts: readonly ArrayBuffer[]): ArrayBuffer {
  const joined = new Uint8Array(parts.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(new Uint8Array(part), at);
    at += part.byteLength;
  }
  return joined.buffer;
}
