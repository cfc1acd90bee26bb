import type { Directive, DirectiveBlock } from '../../../shared/config-file/directive.ts';
import type { Position, Word } from '../../../shared/config-file/word.ts';
import type { RouteSpec } from '../../../shared/route.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { DEFAULT_HTTP_PORT, DEFAULT_HTTPS_PORT, type Globals } from '../../../shared/settings.ts';
import type { Domain } from '../../../shared/values/host.ts';
import type { SourceCertificate } from '../source.ts';
import { type Collected, collectDiagnostics, type Diagnostic } from './diagnostics/diagnostics.ts';
import { createImports, type ImportedText, type Imports } from './imports/imports.ts';
import { readLines } from './sites/block.ts';
import { GLOBAL_RULES, type GlobalsDraft } from './sites/globals.ts';
import { readSite, type SharedContext } from './sites/site.ts';
import type { FilePorts } from './sites/site-address.ts';
import { combineCertificates, type SiteCertificate } from './sites/site-certificate.ts';
import { type Files, filesOnDisk } from './text/files.ts';
import { textNamedBy } from './text/named-file.ts';
import { readContent } from './text/read.ts';
import { readText } from './text/text.ts';
import { createLexer } from './tokens/lexer.ts';
import { parseLines } from './tree/lines.ts';
import { parse } from './tree/parser.ts';
import type { FilePart } from './tree/syntax.ts';
import type { Environment } from './variables/read-context.ts';

/** A compiled config file: valid as a whole or not at all. */
export type Compiled =
  | {
      readonly ok: true;
      /** In the order of the file, with `source` and `origin` (`path:line`) set. */
      readonly routes: readonly RouteSpec[];
      readonly globals: Globals;
      /** The certificates supplied by sites, with their keys. */
      readonly certificates: readonly SourceCertificate[];
      /** Valid, but perhaps not intended. */
      readonly warnings: readonly Diagnostic[];
    }
  | {
      readonly ok: false;
      /** All errors, in the order of the file. Never empty. */
      readonly diagnostics: readonly Diagnostic[];
      /** The globals if there is a valid block of them, regardless of other errors. */
      readonly globals: Globals | null;
    };

export type CompiledFile = Compiled & {
  /**
   * Every path whose change may change the result, even for a file with errors: the file itself, each file that it imports or tried to
   * import, and each directory searched by an import.
   */
  readonly inputs: readonly string[];
};

/** Reads and compiles the file at `path` and its imports. An unreadable file is a diagnostic; nothing is thrown. */
export async function compileFile(path: string, env: Environment): Promise<CompiledFile> {
  const files = filesOnDisk();
  const content = await readContent(path);
  if (!content.ok) return { ...whole(path, content.reason), inputs: [path] };
  const compiled = compileBytes(content.value, path, env, files);
  return { ...compiled, inputs: [path, ...files.looked] };
}

/**
 * The globals of the file at `path`: as `compileFile` returns them, but sites after a valid block of globals are not read, as nothing in
 * them can change it. @returns null if the file has errors and no valid block.
 */
export async function globalsOfFile(path: string, env: Environment): Promise<Globals | null> {
  const content = await readContent(path);
  return content.ok ? compileBytes(content.value, path, env, filesOnDisk(), true).globals : null;
}

/**
 * Compiles the bytes of a file; `path` is what diagnostics and origins call it, and where its imports are looked for. Never throws,
 * whatever the bytes are. With `onlyGlobals`, sites after a valid block of globals are not read.
 */
export function compileBytes(bytes: Buffer, path: string, env: Environment, files: Files = filesOnDisk(), onlyGlobals = false): Compiled {
  const report = collectDiagnostics(path);
  const text = readText(bytes, path, report);
  if (text !== null && text.trim() === '') return whole(path, 'the file is empty: write a site, or a comment if none is meant');
  const house = createHouse(report, env, files, onlyGlobals);
  if (text !== null) {
    report.read(path, text);
    readParts({ tokens: createLexer(text, path, report), context: { env, report, args: null, from: undefined } }, house);
  }
  const diagnostics = report.errors();
  if (diagnostics.length > 0) return { ok: false, diagnostics, globals: house.globals?.sound ?? null };
  const { routes, certificates, globals } = house;
  return { ok: true, routes, globals: globals?.sound ?? {}, certificates: combineCertificates(certificates), warnings: report.warnings() };
}

/** An error of the file as a whole. */
const whole = (path: string, message: string): Compiled => ({ ok: false, diagnostics: [{ path, place: null, message }], globals: null });

/** The combined state of a file and its imports while they are read. */
type House = {
  readonly report: Collected;
  readonly imports: Imports;
  readonly shared: SharedContext;
  readonly taken: Map<Domain, Position>;
  readonly routes: RouteSpec[];
  readonly certificates: SiteCertificate[];
  /** The first block of globals; `sound` is null if it contains errors. */
  globals: { readonly sound: Globals | null } | null;
  /** Whether a site has been read: globals must come before the first. */
  sites: boolean;
  /** Whether only the globals are wanted. */
  readonly onlyGlobals: boolean;
};

function createHouse(report: Collected, env: Environment, files: Files, onlyGlobals: boolean): House {
  const imports = createImports(env, files, report);
  const expanded = (block: DirectiveBlock): DirectiveBlock => expand(block, imports);
  const textOf = (word: Word) => textNamedBy(word, files);
  const house: House = {
    report,
    imports,
    shared: { report, expanded, textOf, now: systemClock.now(), sourceWords: new WeakMap(), ports: () => portsOf(house.globals) },
    taken: new Map(),
    routes: [],
    certificates: [],
    globals: null,
    sites: false,
    onlyGlobals,
  };
  return house;
}

function portsOf(globals: House['globals']): FilePorts | null {
  if (globals !== null && globals.sound === null) return null;
  const { http_port = DEFAULT_HTTP_PORT, https_port = DEFAULT_HTTPS_PORT } = globals?.sound ?? {};
  return { http: [http_port].flat(), https: [https_port].flat() };
}

function readParts({ tokens, context }: ImportedText, house: House): void {
  let before = house.report.count();
  for (const part of parse(tokens, context)) {
    if (house.onlyGlobals && house.globals?.sound && part.kind === 'site') return;
    if (!house.report.full()) readPart(part, before, house);
    before = house.report.count();
  }
}

/** `before`: the number of errors before the part was parsed. */
function readPart(part: FilePart, before: number, house: House): void {
  switch (part.kind) {
    case 'import':
      for (const piece of house.imports.open(part.directive)) readParts(piece, house);
      return;
    case 'snippet':
      return house.imports.define(part);
    case 'globals':
      if (house.sites || house.globals !== null)
        return house.report.error(
          part.block.open,
          'this block has no site address before it; globals are written once, at the top of the file',
        );
      house.globals = readGlobals(part.block, before, house);
      return;
    case 'site':
      house.sites = true;
      readSite(part, house.taken, house.shared, {
        route: (route) => house.routes.push(route),
        certificate: (certificate) => house.certificates.push(certificate),
      });
  }
}

function readGlobals(block: DirectiveBlock, before: number, { report, shared }: House): { sound: Globals | null } {
  const draft: GlobalsDraft = {};
  // No global has a block of directives.
  readLines(block, 'globals', GLOBAL_RULES, draft, [], { ...shared, conditionFor: () => undefined, readBlock: () => undefined });
  return { sound: report.count() === before ? draft : null };
}

/** The lines of a block, with its imports replaced by their lines. */
function expand(block: DirectiveBlock, imports: Imports): DirectiveBlock {
  if (!block.lines.some(isImport)) return block;
  return { open: block.open, lines: linesOf(block.lines, imports) };
}

function linesOf(lines: readonly Directive[], imports: Imports): Directive[] {
  return lines.flatMap((line) => {
    if (!isImport(line)) return [line];
    return imports.open(line).flatMap(({ tokens, context }) => linesOf(parseLines(tokens, context), imports));
  });
}

const isImport = ({ name }: Directive): boolean => name.text === 'import' && name.style === 'bare';
