// Failures of a template: a syntax error, an operation that Python refuses, or the template's own raise_exception.

export class TemplateFailure extends Error {
  /** Python's or jinja2's name of the exception. */
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string) {
    super(message);
    this.name = 'TemplateFailure';
    this.kind = kind;
  }
}

export type FailureKind =
  | 'TemplateSyntaxError'
  | 'TemplateError'
  | 'TemplateRuntimeError'
  | 'UndefinedError'
  | 'SecurityError'
  | 'TypeError'
  | 'ValueError'
  | 'KeyError'
  | 'IndexError'
  | 'OverflowError'
  | 'ZeroDivisionError';

export function typeError(message: string): TemplateFailure {
  return new TemplateFailure('TypeError', message);
}

export function valueError(message: string): TemplateFailure {
  return new TemplateFailure('ValueError', message);
}

/** For what jinja2 has and this implementation does not. */
export function notImplemented(what: string): TemplateFailure {
  return new TemplateFailure('TemplateRuntimeError', `${what} is not supported in chat templates here`);
}
