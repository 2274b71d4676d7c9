// Tables of methods: a name, the parameters, what it computes.

import type { Meter } from '../values/meter.ts';
import { bind, signature, type Signature } from '../values/signature.ts';
import { NativeFunction, type Arguments, type Value } from '../values/values.ts';

export interface Method<Self> {
  signature: Signature;
  run(self: Self, args: readonly Value[], meter: Meter): Value;
}

/** Methods by what signature() reads. */
export type MethodRows<Self> = Readonly<Record<string, Method<Self>['run']>>;

export function methodTable<Self>(rows: MethodRows<Self>): ReadonlyMap<string, Method<Self>> {
  return new Map(
    Object.entries(rows).map(([declared, run]) => {
      const known = signature(declared);
      return [known.name, { signature: known, run }];
    }),
  );
}

/** The method as a value that can be called. */
export function boundMethod<Self>(method: Method<Self>, self: Self, meter: Meter): NativeFunction {
  return new NativeFunction(method.signature.name, (args: readonly Value[], named: Arguments) => {
    meter.read(typeof self === 'string' ? self.length : 0);
    return method.run(self, bind(method.signature, args, named), meter);
  });
}
