import { type Directive, type DirectiveBlock, type DirectiveContext, firstOf, type Grammar } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import { lineOf, type Word } from '../../config-file/word.ts';
import { type BcryptHash, parseBcryptHash } from '../../values/bcrypt-hash.ts';

type User = { name: string; hash: BcryptHash };

/** The default realm, which browsers show. */
export const DEFAULT_REALM = 'restricted';
const FORM = '<user> <bcrypt_hash>';
const REALM = /^[\x20-\x7e\x80-\xff]*$/;
/** Characters. */
const LONGEST = 256;
const MAX_USERS = 1_000;

export const basicAuthDirective: Grammar<{ basic_auth?: { realm: string; users: User[] } | null }> = {
  name: 'basic_auth',
  otherNames: ['auth_basic', 'basicauth'],
  form: `basic_auth ["<realm>"] { … } with one ${FORM} per line`,
  args: [0, 1],
  block: 'required',
  repeats: false,
  read({ name, args: [word], block }, part, { report, expanded }) {
    if (block === null) return;
    const realm = word === undefined ? DEFAULT_REALM : word.text;
    const wrong = (word && faultOfBareWord(word)) ?? faultOfRealm(realm);
    if (word && wrong) report.error(word, `basic_auth ${quote(realm)}: ${wrong}`);
    const users = readUsers(name, expanded(block), report);
    // Also with mistakes, so that a mistake never leaves a protected site open.
    part.basic_auth = { realm, users };
  },
};

/** In a Caddyfile, a path stands where the realm is here. */
function faultOfBareWord({ style, text }: Word): string | undefined {
  if (style !== 'bare' || !/^[/*]/.test(text)) return undefined;
  if (text === '*' || text === '/*')
    return `basic_auth takes no path, and every path of the site or block needs the password: delete ${text}`;
  return 'basic_auth takes no path: put it in a handle block; a realm that looks like a path is written in quotes';
}

function faultOfRealm(realm: string): string | undefined {
  if (realm.length > LONGEST) return `a realm is at most ${LONGEST} characters long`;
  return REALM.test(realm) ? undefined : 'a realm must not contain control characters or characters above U+00FF';
}

function readUsers(directive: Word, block: DirectiveBlock, report: DirectiveContext['report']): User[] {
  const users: User[] = [];
  const names: Word[] = [];
  if (block.lines.length === 0) report.error(directive, `basic_auth has no users, so no one can log in: write one ${FORM} per line`);
  if (block.lines.length > MAX_USERS) report.error(directive, `basic_auth has at most ${MAX_USERS} users`);
  for (const line of block.lines) {
    const user = readUser(line, report);
    const earlier = firstOf(names, line.name.text);
    if (earlier) report.error(line.name, `user ${shown(line.name)} is already defined in ${lineOf(earlier, line.name)}: keep one of them`);
    names.push(line.name);
    if (user !== undefined) users.push(user);
  }
  return users;
}

function readUser({ name, args: [word, extra], block }: Directive, report: DirectiveContext['report']): User | undefined {
  if (block) report.error(block.open, `a user line takes no block: write ${FORM}`);
  const wrongName = faultOfName(name.text);
  if (wrongName) report.error(name, `user ${shown(name)}: ${wrongName}`);
  if (word === undefined) {
    report.error(name, `user ${shown(name)} has no hash: write ${FORM}; create one with "sluice hash-password"`);
    return undefined;
  }
  if (extra) report.error(extra, `user ${shown(name)} has extra text after the hash: write ${FORM}`);
  const hash = parseBcryptHash(word.text);
  // The text may be the password itself, so it is not repeated.
  if (!hash.ok) report.error(word, `user ${shown(name)}: ${hash.reason}`);
  return hash.ok && !wrongName ? { name: name.text, hash: hash.value } : undefined;
}

function faultOfName(name: string): string | undefined {
  if (name === '') return 'the user name is empty';
  if (name.length > LONGEST) return `a user name is at most ${LONGEST} characters long`;
  if (name.includes(':')) return `a user name must not contain a colon: write ${FORM}, separated by a space`;
  return /\p{Cc}/u.test(name) ? 'a user name must not contain control characters' : undefined;
}

/** The text after a colon is a hash, or even a password, so it is not repeated. */
const shown = (name: Word): string => quote(name.text.split(':', 1)[0] ?? '');
