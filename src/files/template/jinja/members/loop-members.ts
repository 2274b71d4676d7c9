// `loop.index` and its like.

import { isEqual } from '../operators/compare.ts';
import type { LoopContext } from '../values/loop-context.ts';
import type { Meter } from '../values/meter.ts';
import { NativeFunction, Tuple, type Value } from '../values/values.ts';

type Read = (loop: LoopContext, meter: Meter) => Value;

const MEMBERS = new Map<string, Read>(
  Object.entries<Read>({
    index: (loop) => loop.index0 + 1,
    index0: (loop) => loop.index0,
    first: (loop) => loop.index0 === 0,
    last: (loop) => loop.isLast,
    length: (loop) => loop.length,
    revindex: (loop) => loop.length - loop.index0,
    revindex0: (loop) => loop.length - loop.index0 - 1,
    previtem: (loop) => loop.previous,
    nextitem: (loop) => loop.following,
    depth: (loop) => loop.depth0 + 1,
    depth0: (loop) => loop.depth0,
    cycle: (loop) => new NativeFunction('cycle', (args) => loop.cycle(args)),
    changed: (loop, meter) =>
      new NativeFunction('changed', (args) => {
        const before = loop.lastChanged;
        loop.lastChanged = args;
        return before === null || !isEqual(new Tuple(before), new Tuple(args), meter);
      }),
  }),
);

/** Returns undefined if there is no such member. */
export const loopMember = (loop: LoopContext, name: string, meter: Meter): Value | undefined =>
  MEMBERS.get(name)?.(loop, meter);
