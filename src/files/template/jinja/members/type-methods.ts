// Methods of list, tuple, dict, str, int and float, without those that change their object.

import { isEqual } from '../operators/compare.ts';
import { Dict, DictView } from '../values/dict.ts';
import { valueError } from '../values/failure.ts';
import { dictFromKeys } from './global-values.ts';
import { iterate, listOf } from '../values/iterate.ts';
import { methodTable, type MethodRows } from './method.ts';
import { requireInt } from '../values/numbers.ts';
import { shown } from '../values/print.ts';
import { FORM_METHODS } from './string-form.ts';
import { SEARCH_METHODS } from './string-search.ts';
import { Float, isInt, typeName, type Value } from '../values/values.ts';

/** Lists, tuples and ranges. */
const SEQUENCE_METHODS: MethodRows<Value> = {
  'count(value, /)': (self, [value], meter) => {
    let found = 0;
    for (const item of iterate(self, meter)) if (isEqual(item, value!, meter)) found++;
    return found;
  },
  'index(value, start=0, stop=9007199254740991, /)': (self, [value, start, stop], meter) => {
    const items = listOf(self, meter);
    const place = (at: number): number => (at < 0 ? Math.max(0, at + items.length) : at);
    const end = Math.min(items.length, place(requireInt(stop!)));
    for (let at = place(requireInt(start!)); at < end; at++)
      if (isEqual(items[at]!, value!, meter)) return at;
    throw valueError(`${shown(value!, meter)} is not in ${typeName(self)}`);
  },
};

export const LIST_METHODS = methodTable<Value>({
  ...SEQUENCE_METHODS,
  'copy()': (self, _args, meter) => listOf(self, meter),
});
export const TUPLE_METHODS = methodTable<Value>(SEQUENCE_METHODS);

export const DICT_METHODS = methodTable<Dict>({
  'get(key, default=null, /)': (self, [key, usual], meter) => {
    const value = self.get(key!, meter);
    return value === undefined ? usual! : value;
  },
  'keys()': (self) => new DictView(self, 'keys'),
  'values()': (self) => new DictView(self, 'values'),
  'items()': (self) => new DictView(self, 'items'),
  'copy()': (self, _args, meter) => {
    meter.hold(self.size);
    const copy = new Dict();
    for (const { key, value } of self.pairs()) copy.set(key, value, meter);
    return copy;
  },
  'fromkeys(keys, value=null, /)': (_self, [keys, value], meter) => dictFromKeys(keys!, value!, meter),
});

export const TEXT_METHODS = methodTable<string>({ ...SEARCH_METHODS, ...FORM_METHODS });

export const INT_METHODS = methodTable<Value>({
  'bit_length()': (self) =>
    isInt(self) && BigInt(self) !== 0n ? BigInt(self).toString(2).replace('-', '').length : 0,
  'conjugate()': (self) => self,
});
export const FLOAT_METHODS = methodTable<Value>({
  'is_integer()': (self) => self instanceof Float && Number.isInteger(self.value),
  'conjugate()': (self) => self,
});
