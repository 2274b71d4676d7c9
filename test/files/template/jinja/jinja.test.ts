// Jinja's semantics against jinja2 as transformers sets it up (scripts/reference/jinja.py): each one-line template renders the same text,
// or both refuse it.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { TemplateFailure } from '../../../../src/files/template/jinja/values/failure.ts';
import { JinjaTemplate } from '../../../../src/files/template/jinja/jinja.ts';

interface Case {
  source: string;
  text?: string;
  /** Name of the exception. */
  error?: string;
}

const golden = JSON.parse(readFileSync(new URL('../../../golden/jinja.json', import.meta.url), 'utf8')) as {
  variables: Record<string, unknown>;
  cases: Case[];
};

function outcome(source: string): Pick<Case, 'text' | 'error'> {
  try {
    return { text: new JinjaTemplate(source, 'case').render(golden.variables) };
  } catch (error) {
    if (error instanceof TemplateFailure) return { error: error.kind };
    throw error;
  }
}

it('a Jinja template gives the text that Python gives, and refuses what Python refuses', () => {
  const different = golden.cases.flatMap(({ source, text, error }) => {
    const ours = outcome(source);
    const agrees = text === undefined ? ours.error !== undefined : ours.text === text;
    return agrees ? [] : [{ source, python: text ?? error, ours }];
  });
  expect(golden.cases.length).toBeGreaterThan(1000);
  expect(different).toEqual([]);
});

/** Exceptions that both have. */
const NAMED = ['TypeError', 'ValueError', 'ZeroDivisionError', 'UndefinedError', 'TemplateSyntaxError'];

it('a Jinja template is refused for the reason that Python gives', () => {
  const refused = golden.cases.filter(
    ({ source, error }) =>
      error !== undefined && NAMED.includes(error) && !/\{% (include|extends|import)/.test(source),
  );
  const other = refused.filter(({ source, error }) => outcome(source).error !== error);
  expect(other.map(({ source, error }) => ({ source, error, ours: outcome(source).error }))).toEqual([]);
});
