import type { BasicAuthSpec } from '../../../../shared/route.ts';
import { costOf } from '../../../../shared/values/bcrypt-hash.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import { answers, LATER, type Policy, type PolicyKind } from '../policy.ts';
import { credentialsIn } from './credentials.ts';

/** `basic_auth`: the block's own users, or the site's if the block has none. */
export const basicAuth: PolicyKind = (route, handle) => {
  const spec = handle?.basic_auth ?? route.basic_auth;
  return spec === null ? [] : [compile(spec)];
};

/** A salt and a hash that match no password, for unknown users: checking them takes as long as for known ones. */
const UNKNOWN_USER = '......................JgDvSGtFJwwSs8gQTD9PW8eoXmQ8gF.';

function compile(spec: BasicAuthSpec): Policy {
  const hashes = new Map(spec.users.map(({ name, hash }) => [name, hash as string]));
  const cost = Math.max(...spec.users.map(({ hash }) => costOf(hash)));
  const unknownUser = `$2b$${String(cost).padStart(2, '0')}$${UNKNOWN_USER}`;
  const missing = challenge(spec.realm, 'no readable user and password');
  const wrong = challenge(spec.realm, 'the user or the password is wrong');
  return {
    name: 'basic_auth',
    decide(x, tools) {
      const credentials = credentialsIn(x.fields);
      if (credentials === null) return missing;
      const verdict = tools.passwords.check(x, credentials, hashes.get(credentials.user) ?? unknownUser, wrong);
      return verdict === 'later' ? LATER : verdict;
    },
    explain: () => answers(`requires a user and a password: ${spec.users.length} known for "${spec.realm}"`),
  };
}

/** RFC 7617 2. The realm is a quoted-string (RFC 9110 5.6.4). */
function challenge(realm: string, reason: string): OwnAnswer {
  const quoted = realm.replace(/["\\]/g, '\\$&');
  return { status: 401, fields: `WWW-Authenticate: Basic realm="${quoted}", charset="UTF-8"\r\n`, body: null, reason };
}
