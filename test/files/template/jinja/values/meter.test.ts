// Templates that never end, or produce too much, end with an error that names the limit; the process continues.

import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../../../src/files/error.ts';
import { JinjaTemplate } from '../../../../../src/files/template/jinja/jinja.ts';
import { Meter, RENDER_LIMITS } from '../../../../../src/files/template/jinja/values/meter.ts';

/** Limits lower than those of conversations, so that each case is fast. */
const limits = { ...RENDER_LIMITS, steps: 500_000, length: 2 ** 20, text: 2 ** 22, elements: 2 ** 20 };

function refusal(source: string, variables: Record<string, unknown> = {}): EngineError {
  try {
    new JinjaTemplate(source, 'hostile').render(variables, { limits });
  } catch (error) {
    if (error instanceof EngineError) return error;
    throw error;
  }
  throw new Error('it rendered');
}

const HUNDRED = '{% set r = range(100000) %}';

describe('an endless template', () => {
  it.each([
    ['loops', `${HUNDRED}{% for a in r %}{% for b in r %}{% endfor %}{% endfor %}`, 'steps'],
    [
      'a macro that calls itself',
      '{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}',
      'calls inside each other',
    ],
    [
      'macros that call twice',
      '{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(150) }}',
      'steps',
    ],
    [
      'a recursive loop',
      '{% set x = [[1]] %}{% for y in x recursive %}{{ loop(x) }}{% endfor %}',
      'calls inside',
    ],
    [
      'a loop that reads itself',
      `${HUNDRED}{{ r|map('string')|map('upper')|list|length }}{% for a in r %}{% for b in r|map('int') %}{% endfor %}{% endfor %}`,
      'steps',
    ],
    [
      'text that doubles',
      `{% set ns = namespace(t='ab') %}{% for a in range(99) %}{% set ns.t = ns.t + ns.t %}{% endfor %}`,
      'characters',
    ],
    [
      'joins that double',
      `{% set ns = namespace(t='ab') %}{% for a in range(99) %}{% set ns.t = ns.t ~ ns.t %}{% endfor %}`,
      'characters',
    ],
    [
      'lists that double',
      `{% set ns = namespace(t=[1]) %}{% for a in range(99) %}{% set ns.t = ns.t + ns.t %}{% endfor %}`,
      'elements',
    ],
    [
      'a list within itself, printed',
      `{% set ns = namespace(t=[1]) %}{% for a in range(60) %}{% set ns.t = [ns.t, ns.t] %}{% endfor %}{{ ns.t }}`,
      'characters|steps',
    ],
    [
      'a list within itself, as JSON',
      `{% set ns = namespace(t=[1]) %}{% for a in range(60) %}{% set ns.t = [ns.t, ns.t] %}{% endfor %}{{ ns.t|tojson }}`,
      'characters|steps',
    ],
    [
      'a list within itself, compared',
      `{% set ns = namespace(t=[1], u=[1]) %}{% for a in range(60) %}{% set ns.t = [ns.t, ns.t] %}{% set ns.u = [ns.u, ns.u] %}{% endfor %}{{ ns.t == ns.u }}`,
      'steps',
    ],
    [
      'a tuple within itself as a key',
      `{% set ns = namespace(t=(1,)) %}{% for a in range(60) %}{% set ns.t = (ns.t, ns.t) %}{% endfor %}{{ {ns.t: 1} }}`,
      'characters|steps',
    ],
    [
      'deep nesting, printed',
      `{% set ns = namespace(t=[]) %}{% for a in range(30000) %}{% set ns.t = [ns.t] %}{% endfor %}{{ ns.t }}`,
      'depth',
    ],
    ['output', `${HUNDRED}{% for a in r %}{{ 'x' * 1000 }}{% endfor %}`, 'characters'],
  ])('of %s', (_name, source, limit) => {
    const error = refusal(source);
    expect(error).toMatchObject({ code: 'unsupported', param: 'chat_template' });
    expect(error.message).toMatch(
      new RegExp(`the chat template "hostile" exceeds the limit of .*(${limit})`),
    );
  });
});

it('an amount that is not a number, as no elements times infinity, leaves no later operation without limits', () => {
  const loops = `${HUNDRED}{% for a in r %}{% for b in r %}{% endfor %}{% endfor %}`;
  expect(refusal(`{% set e = [] * 10 ** 400 %}${loops}`).message).toMatch(/ steps/);
  const meter = new Meter('nan', limits);
  expect(() => meter.hold(Number.NaN)).toThrow(/elements/);
});

it('a long text is cut from its end in proportion to its length', () => {
  const template = new JinjaTemplate('{{ text.rsplit()|length }}', 'long');
  expect(template.render({ text: 'a '.repeat(200_000) })).toBe('200000');
});

it('a time format has a limit of its own', () => {
  const template = new JinjaTemplate("{{ strftime_now('%c' * 10000) }}", 'long');
  expect(() => template.render({})).toThrow('a time format has 20000 characters, 10000 are allowed');
});

describe('an operation that makes much of little', () => {
  it.each([
    "'a' * 10 ** 9",
    '[0] * 10 ** 9',
    "'a'.ljust(10 ** 9)",
    "'a'.center(10 ** 9)",
    "'1'.zfill(10 ** 9)",
    "'%999999999d' % 1",
    "'%*d' % (999999999, 1)",
    "'%.400000000d' % 1",
    "('a' * 200000)|wordwrap(1)",
    "'{:999999999}'.format(1)",
    "'{:{}}'.format('', 10 ** 9)",
    "('a' * 4000)|replace('', 'b' * 4000)",
    "('a' * 4000).replace('a', 'b' * 4000)",
    "('b' * 4000).join('a' * 4000)",
    "('a' * 4000)|join('b' * 4000)",
    "('a\\n' * 4000)|indent(4000)",
    'range(4000)|list|tojson(indent=4000)',
    '10 ** (10 ** 10)',
    '(10 ** 9) ** (10 ** 9)',
    "'a'.expandtabs(10 ** 9) ~ '\\t'.expandtabs(10 ** 9)",
    'range(100000)|batch(99999999, 0)|list',
    'range(100000)|slice(99999999)|list',
    "('9' * 100000)|int",
    '(range(100000)|list) * 100000',
    "'%s' * 1000000 % (('a' * 10000,) * 1000000)",
  ])('%s', (expression) => {
    expect(refusal(`{{ ${expression} }}`).message).toMatch(/exceeds the limit of/);
  });
});

describe('the source of a template', () => {
  it.each([
    ['brackets', `{{ ${'['.repeat(5000)}${']'.repeat(5000)} }}`],
    ['signs', `{{ ${'-'.repeat(5000)}1 }}`],
    ['negations', `{{ ${'not '.repeat(5000)}1 }}`],
    ['statements', `${'{% if 1 %}'.repeat(5000)}${'{% endif %}'.repeat(5000)}`],
    ['conditions', `{{ ${'1 if 1 else '.repeat(5000)}1 }}`],
    ['sums', `{{ 1${' + 1'.repeat(100_000)} }}`],
    ['characters', ' '.repeat(2 ** 20 + 1)],
  ])('nests or holds too much: %s', (_name, source) => {
    expect(refusal(source).message).toMatch(/exceeds the limit of/);
  });
});

it('rendering ends at the limit of its time', () => {
  const started = performance.now();
  const template = new JinjaTemplate(
    `${HUNDRED}{% for a in r %}{% for b in r %}{% endfor %}{% endfor %}`,
    'slow',
  );
  const short = { ...RENDER_LIMITS, milliseconds: 50 };
  expect(() => template.render({}, { limits: short })).toThrow(/limit of 0.05 seconds/);
  expect(performance.now() - started).toBeLessThan(5000);
});

it('the limits leave room for 16,384 messages, quadratic slices and texts that grow', () => {
  const messages = Array.from({ length: 16_384 }, (_, at) => ({
    role: at % 2 ? 'assistant' : 'user',
    content: `message ${at} ${'word '.repeat(20)}`,
  }));
  const source = `{% set ns = namespace(all='', last=-1) %}{% for m in messages %}{% if m.role == 'user' and not messages[loop.index0 + 1:]|length < 0 %}{% set ns.last = loop.index0 %}{% endif %}{% set ns.all = ns.all + m.content|trim %}<|im_start|>{{ m.role }}\n{{ m.content.split('</think>')[-1].strip('\n') }}<|im_end|>\n{% endfor %}{{ ns.all|length }}`;
  const text = new JinjaTemplate(source, 'long').render({ messages });
  expect(text).toContain('message 16383');
});

describe('an operation that reads much', () => {
  it.each([
    'x == y',
    'x < y',
    'x.strip()',
    'x is lower',
    'x[0]',
    'x[::-1]',
    "x.find('b')",
    "'b' in x",
    'x|length',
  ])('is counted: %s', (expression) => {
    const source = `{% set x = ' ' * 1000000 %}{% set y = ' ' * 999999 ~ ' ' %}{% for a in range(9999) %}{% set z = ${expression} %}{% endfor %}`;
    expect(refusal(source).message).toMatch(/exceeds the limit of/);
  });
});

it('a filter reads a long text that is not a number once', () => {
  const template = new JinjaTemplate("{{ ('1' * 300000 ~ 'x')|float }}", 'digits');
  expect(template.render({})).toBe('0.0');
});
