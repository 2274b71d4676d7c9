// Members, behind a dot or in brackets: methods and attributes of Python's types, elements, keys. The names are these tables and
// no others, so nothing of JavaScript can be reached; methods that change a list or dict are refused as jinja2's sandbox does.

import { codePoints, hasPairs } from '../values/code-points.ts';
import { Dict, DictView, Namespace } from '../values/dict.ts';
import { Cycler } from './global-values.ts';
import { LoopContext } from '../values/loop-context.ts';
import { loopMember } from './loop-members.ts';
import { markupMember } from './markup-members.ts';
import type { Meter } from '../values/meter.ts';
import { boundMethod, type Method } from './method.ts';
import { shown, shownText } from '../values/print.ts';
import { formatMember } from './string-format.ts';
import {
  DICT_METHODS,
  FLOAT_METHODS,
  INT_METHODS,
  LIST_METHODS,
  TEXT_METHODS,
  TUPLE_METHODS,
} from './type-methods.ts';
import {
  Float,
  isInt,
  isList,
  isText,
  Lazy,
  Markup,
  NativeFunction,
  Range,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from '../values/values.ts';

const CHANGES_LIST = new Set('append clear pop reverse insert sort extend remove'.split(' '));
const CHANGES_DICT = new Set('clear pop popitem setdefault update'.split(' '));
/** Attributes of every Python object, which the sandbox hides from templates. */
const OBJECT_NAMES = new Set(
  '__class__ __delattr__ __dir__ __doc__ __eq__ __format__ __ge__ __getattribute__ __getstate__ __gt__ __hash__ __init__ __init_subclass__ __le__ __lt__ __ne__ __new__ __reduce__ __reduce_ex__ __repr__ __setattr__ __sizeof__ __str__ __subclasshook__ __len__ __iter__ __contains__ __getitem__ __call__ __dict__ __module__ __globals__ __code__'.split(
    ' ',
  ),
);

/** `value.name`: the attribute, else the item. Throws for members of what is undefined. */
export function member(value: Value, name: string, meter: Meter): Value {
  if (value instanceof Dict && value.typeName === 'dict') {
    const known = dictAttribute(value, name, meter);
    return known === undefined ? orMissing(value.getName(name), value, name) : known;
  }
  const found = attribute(value, name, meter);
  if (found !== undefined) return found;
  return orMissing(itemOf(value, name, meter), value, name);
}

/** `value[index]`: the item, else, for a text, the attribute. */
export function element(value: Value, index: Value, meter: Meter): Value {
  const item = itemOf(value, index, meter);
  if (item !== undefined) return item;
  if (isText(index)) {
    const found = attribute(value, typeof index === 'string' ? index : index.text, meter);
    if (found !== undefined) return found;
  }
  return missing(value, index, meter);
}

/** Undefined instead of a fallback to the item: the filter attr. */
export function attributeOnly(value: Value, name: string, meter: Meter): Value {
  if (value instanceof Undefined) return value.raise();
  return orMissing(attribute(value, name, meter), value, name);
}

/** None counts as found. */
function orMissing(found: Value | undefined, value: Value, name: string): Value {
  return found === undefined ? missing(value, name) : found;
}

function missing(value: Value, name: Value, meter?: Meter): Undefined {
  const of = value === null ? 'None' : `${typeName(value)} object`;
  if (typeof name === 'string') return new Undefined(`'${of}' has no attribute ${shownText(name)}`);
  return new Undefined(`${of} has no element ${meter ? shown(name, meter) : ''}`);
}

function unsafe(value: Value, name: string): Undefined {
  const message = `access to attribute ${shownText(name)} of '${typeName(value)}' object is unsafe.`;
  return new Undefined(message, 'SecurityError');
}

function dictAttribute(dict: Dict, name: string, meter: Meter): Value | undefined {
  const method = DICT_METHODS.get(name);
  if (method) return boundMethod(method, dict, meter);
  return CHANGES_DICT.has(name) || OBJECT_NAMES.has(name) ? unsafe(dict, name) : undefined;
}

/** undefined: the type has no attribute of that name. */
function attribute(value: Value, name: string, meter: Meter): Value | undefined {
  if (value instanceof Undefined) return value.raise();
  if (value instanceof Namespace) return value.members.getName(name);
  if (OBJECT_NAMES.has(name)) return unsafe(value, name);
  if (value instanceof Dict) return dictAttribute(value, name, meter);
  if (typeof value === 'string') return textAttribute(value, name, meter);
  if (value instanceof Markup)
    return markupMember(value, name, (text) => textAttribute(text, name, meter), meter);
  if (isList(value)) {
    if (CHANGES_LIST.has(name)) return unsafe(value, name);
    return method(LIST_METHODS, name, value, meter);
  }
  if (value instanceof Tuple) {
    const at = value.names.indexOf(name);
    return at >= 0 ? value.items[at] : method(TUPLE_METHODS, name, value, meter);
  }
  if (value instanceof LoopContext) return loopMember(value, name, meter);
  if (isInt(value) || value instanceof Float) return numberAttribute(value, name, meter);
  if (value instanceof Range) {
    if (name === 'start' || name === 'stop' || name === 'step') return value[name];
    return method(TUPLE_METHODS, name, value, meter);
  }
  if (value instanceof Cycler) return value.attribute(name);
  if (value instanceof DictView && name === 'mapping') return value.of;
  if (value instanceof NativeFunction) return value.members.get(name);
  return value instanceof Lazy && name === 'gi_frame' ? unsafe(value, name) : undefined;
}

function method<Self>(
  table: ReadonlyMap<string, Method<Self>>,
  name: string,
  self: Self,
  meter: Meter,
): Value | undefined {
  const found = table.get(name);
  return found && boundMethod(found, self, meter);
}

function textAttribute(text: string, name: string, meter: Meter): Value | undefined {
  return method(TEXT_METHODS, name, text, meter) ?? formatMember(text, name, { member, element }, meter);
}

function numberAttribute(value: Value, name: string, meter: Meter): Value | undefined {
  if (name === 'real') return typeof value === 'boolean' ? Number(value) : value;
  if (name === 'imag') return value instanceof Float ? new Float(0) : 0;
  if (value instanceof Float) return method(FLOAT_METHODS, name, value, meter);
  if (name === 'numerator') return value;
  return name === 'denominator' ? 1 : method(INT_METHODS, name, value, meter);
}

/** undefined: there is no such item, or the value has none. */
function itemOf(value: Value, index: Value, meter: Meter): Value | undefined {
  if (value instanceof Undefined) return value.raise();
  if (value instanceof Dict) {
    if (isList(index) || index instanceof Dict) return undefined;
    return value.get(index, meter);
  }
  if (!isInt(index)) return undefined;
  const at = Number(index);
  if (isList(value)) return value.at(at);
  if (value instanceof Tuple) return value.items.at(at);
  if (value instanceof Range) {
    const place = at < 0 ? at + value.length : at;
    return place >= 0 && place < value.length ? value.at(place) : undefined;
  }
  if (typeof value === 'string') return characterAt(value, at, meter);
  if (value instanceof Markup) {
    const char = characterAt(value.text, at, meter);
    return char === undefined ? undefined : new Markup(char);
  }
  return undefined;
}

function characterAt(text: string, at: number, meter: Meter): string | undefined {
  meter.read(text.length);
  if (!hasPairs(text)) return text.at(at);
  return codePoints(text).at(at);
}
