/** The service's name, written once. Everything that contains it derives from here. */
export const NAME = 'sluice';

export const ENV_PREFIX = `${NAME.toUpperCase()}_`;
/** The token of the Admin API, and a second one that only reads. They have no flags, because flags are visible in the process list. */
export const TOKEN_VARIABLE = `${ENV_PREFIX}ADMIN_TOKEN`;
export const VIEW_TOKEN_VARIABLE = `${ENV_PREFIX}VIEW_TOKEN`;
/** For `--help`. */
export const TOKENS_HELP = `The tokens of the Admin API have no flags: ${TOKEN_VARIABLE}, and ${VIEW_TOKEN_VARIABLE}, which only reads.\n`;
export const METRIC_PREFIX = `${NAME}_`;
/** The prefix of header fields. */
const FIELD_PREFIX = `${NAME.charAt(0).toUpperCase()}${NAME.slice(1)}-`;
/** Lists the unknown members of a posted route. */
export const IGNORED_HEADER = `${FIELD_PREFIX}Ignored`;
export const LABEL_PREFIX = `${NAME}.`;
/** The prefix of annotations that are not written like labels, and of the controller's name in a cluster. */
export const CLUSTER_PREFIX = `${NAME}.dev/`;
/** Names this controller in an IngressClass. */
export const INGRESS_CONTROLLER = `${CLUSTER_PREFIX}ingress-controller`;
/** The same in a GatewayClass. */
export const GATEWAY_CONTROLLER = `${CLUSTER_PREFIX}gateway-controller`;
export const CONFIG_FILE = 'Sluicefile';

/** The request header field that counts how often the proxy has forwarded a request. */
export const HOPS_FIELD = `${FIELD_PREFIX}Hops`;

/** The response header field that tells clients without a page that a site challenges browsers. */
export const CHALLENGE_FIELD = `${FIELD_PREFIX}Challenge`;

/** The path below which the proxy itself responds on proxied hosts. */
export const OWN_PATH_PREFIX = `/.${NAME}/`;
/** The script that measures pages, and the path to which it posts its measurements. */
export const BEACON_SCRIPT_PATH = `${OWN_PATH_PREFIX}vitals.js`;
export const BEACON_PATH = `${OWN_PATH_PREFIX}vitals`;
/** The script of a challenge, and where it gets the token to solve. */
export const CHALLENGE_SCRIPT_PATH = `${OWN_PATH_PREFIX}challenge.js`;
export const CHALLENGE_TOKEN_PATH = `${OWN_PATH_PREFIX}challenge`;

export const DEFAULT_ADMIN_LISTEN = '127.0.0.1:6190';
export const DEFAULT_ADMIN_SOCKET = `/var/run/${NAME}-admin.sock`;
/** Where the units for systemd and the Compose files put the socket of a data plane that runs on its own. */
export const DEPLOYED_ADMIN_SOCKET = `/run/${NAME}/admin.sock`;
export const DEFAULT_CONTROLLER_LISTEN = '127.0.0.1:6191';
/** The default ACME directory: Let's Encrypt. */
export const DEFAULT_ACME_DIRECTORY = 'https://acme-v02.api.letsencrypt.org/directory';
export const DEFAULT_CERT_DIR = `/etc/${NAME}/certs`;
/** In the state directory: the certificate and the key of the internal authority's root. */
export const INTERNAL_ROOT_FILE = 'internal-root.pem';
export const DEFAULT_STATE_DIR = `/var/lib/${NAME}`;
export const DEFAULT_CONFIG_PATH = `/etc/${NAME}/${CONFIG_FILE}`;
/** In the state directory: the Admin API socket that `run` opens. */
export const ADMIN_SOCKET_FILE = 'admin.sock';
/** In the state directory: certificates applied by controllers. */
export const APPLIED_FOLDER = 'certificates';
/** In the state directory, once a route has passed TLS connections through: the HTTPS port opens without a certificate. */
export const PASSTHROUGH_FILE = 'tls-passthrough';
