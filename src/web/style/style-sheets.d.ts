// The bundler gathers imported style sheets into page.css.

declare module '*.css';
