import { isChosenByClient, type Served } from '../../../../shared/policy/handle-errors/chosen-files.ts';
import type { PageSearch } from '../../exchange/pages/error-pages.ts';
import type { EvaluatedRequest } from '../../exchange/values/evaluated-request.ts';
import type { AnswerFacts } from '../../exchange/values/placeholders.ts';
import { compileText, type Text } from '../../exchange/values/template.ts';
import { encodedComponent } from '../../exchange/values/url-encoding.ts';
import { climbs } from '../../match/climbs.ts';
import { DiskAccess } from '../files/disk.ts';
import { filePathOf } from '../files/file-path.ts';
import type { FileTools } from '../files/file-tools.ts';
import { mediaTypeOf } from '../files/media-type.ts';
import { compileSettings, type Settings } from '../files/settings.ts';
import { type WholeFile, WholeFiles } from '../files/whole-file.ts';

/** The longest path that a template may produce (bytes). */
const LONGEST_PATH = 4_096;
/** The largest page (bytes). It is held in memory while it is sent. */
const LARGEST_PAGE = 1_048_576;

type Spec = { readonly root?: string | undefined; readonly paths: readonly string[] };
/** The directory of a block, and the domain and the directories of its site. */
export type Roots = { readonly root: string | null; readonly served: readonly Served[]; readonly domain: string };
/** The headers of the page itself. */
type Own = { readonly fields: string; readonly names: ReadonlySet<string> };

/** Pages that are read from files when they are needed, so that they can be replaced at any time. */
export class FilePages {
  private readonly settings: Settings;
  private readonly tools: FileTools;
  private readonly paths: readonly Text[];
  private readonly files: WholeFiles;

  constructor(
    { root: own, paths }: Spec,
    { root: block, served, domain }: Roots,
    tools: FileTools,
    remainder: (x: EvaluatedRequest) => string,
  ) {
    const root = own ?? block ?? '/';
    this.settings = compileSettings({}, root, [], tools.clock);
    this.tools = tools;
    this.files = new WholeFiles(tools.clock);
    // The template is the name of a file, but the inserted values are parts of URLs, where a percent sign begins an escape.
    const usable = paths.filter((path) => !isChosenByClient(path, root, served, domain));
    this.paths = usable.map((path) =>
      compileText(Buffer.from(path.replaceAll('%', '%25')).toString('latin1'), {
        scope: 'answer',
        longest: LONGEST_PATH,
        unsafe: null,
        encode: encodedComponent,
        remainder,
      }),
    );
  }

  search(x: EvaluatedRequest, facts: AnswerFacts, own: Own): PageSearch {
    return (found, fault) => {
      const disk = new DiskAccess(this.tools, this.settings.root.path);
      this.read(disk, x, facts)
        .then((file) => {
          if (!disk.over) found(file === null ? null : { body: file.body, fields: typeOf(file, own) + own.fields, names: own.names });
        })
        .catch((error: unknown) => {
          if (disk.over) this.tools.faults.note('nothing', error);
          else fault(error);
        });
      return () => {
        disk.over = true;
      };
    };
  }

  /** The first file that can be read. */
  private async read(disk: DiskAccess, x: EvaluatedRequest, facts: AnswerFacts): Promise<WholeFile | null> {
    for (const text of this.paths) {
      const written = text.constant ?? text.evaluate(x, facts);
      // A client that has helped to write the path must not lead out of the directory that the site has written.
      const path = written === null || climbs(written) ? 'missing' : filePathOf(written.split('?', 1)[0] as string);
      const file = typeof path === 'string' ? null : await this.files.read(this.settings, disk, path, LARGEST_PAGE);
      if (file !== null) return file;
    }
    return null;
  }
}

/** The line with the type of a file, unless the page has its own. */
const typeOf = ({ name }: WholeFile, { fields }: Own): string =>
  /^content-type:/im.test(fields) ? '' : `Content-Type: ${mediaTypeOf(name)}\r\n`;
