// `loop.index` and its like.

import { isEqual } from '../operators/compare.ts';
import type { LoopContext } from '../values/loop-context.ts';
import type { Meter } from '../values/meter.ts';
import { NativeFunction, Tuple, type Value } from '../values/values.ts';

/** Returns undefined if there is no such member. */
export function loopMember(loop: LoopContext, name: string, meter: Meter): Value | undefined {
  switch (name) {
    case 'index':
      return loop.index0 + 1;
    case 'index0':
      return loop.index0;
    case 'first':
      return loop.index0 === 0;
    case 'last':
      return loop.isLast;
    case 'length':
      return loop.length;
    case 'revindex':
      return loop.length - loop.index0;
    case 'revindex0':
      return loop.length - loop.index0 - 1;
    case 'previtem':
      return loop.previous;
    case 'nextitem':
      return loop.following;
    case 'depth':
      return loop.depth0 + 1;
    case 'depth0':
      return loop.depth0;
    case 'cycle':
      return new NativeFunction('cycle', (args) => loop.cycle(args));
    case 'changed':
      return new NativeFunction('changed', (args) => {
        const before = loop.lastChanged;
        loop.lastChanged = args;
        return before === null || !isEqual(new Tuple(before), new Tuple(args), meter);
      });
    default:
      return undefined;
  }
}
