// Passkeys: signing in, showing who one is for a form, and adding one. What has
// data-passkey is shown where the browser knows them; the rest works without.

const known = window.isSecureContext && window.PublicKeyCredential !== undefined;
if (known) document.documentElement.dataset.passkeys = "";

function bytes(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (c) => c.charCodeAt(0)).buffer;
}

function text(buffer) {
  const binary = Array.from(new Uint8Array(buffer), (b) => String.fromCharCode(b)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function descriptors(list) {
  return (list ?? []).map((one) => ({ ...one, id: bytes(one.id) }));
}

// requestOptions and creationOptions make of JSON what the browser takes.
function requestOptions(json) {
  if (PublicKeyCredential.parseRequestOptionsFromJSON) return PublicKeyCredential.parseRequestOptionsFromJSON(json);
  return { ...json, challenge: bytes(json.challenge), allowCredentials: descriptors(json.allowCredentials) };
}

function creationOptions(json) {
  if (PublicKeyCredential.parseCreationOptionsFromJSON) return PublicKeyCredential.parseCreationOptionsFromJSON(json);
  return {
    ...json, challenge: bytes(json.challenge), user: { ...json.user, id: bytes(json.user.id) },
    excludeCredentials: descriptors(json.excludeCredentials),
  };
}

// answerOf is what an authenticator said, as JSON. Some programs that stand in for the
// browser cannot make it themselves.
function answerOf(credential) {
  try {
    return JSON.stringify(credential.toJSON());
  } catch {
    const response = { clientDataJSON: text(credential.response.clientDataJSON) };
    for (const part of ["attestationObject", "authenticatorData", "signature", "userHandle"]) {
      if (credential.response[part]) response[part] = text(credential.response[part]);
    }
    if (credential.response.getTransports) response.transports = credential.response.getTransports();
    return JSON.stringify({
      id: credential.id, rawId: text(credential.rawId), type: credential.type, response,
      clientExtensionResults: credential.getClientExtensionResults(),
      authenticatorAttachment: credential.authenticatorAttachment ?? undefined,
    });
  }
}

// Refused is a refusal of the server, in its words.
class Refused extends Error {}

// options asks the server what to ask an authenticator for.
async function options(path, fields, signal) {
  const answer = await fetch(path, {
    method: "POST", body: fields, signal, credentials: "same-origin", redirect: "manual", headers: { Accept: "application/json" },
  });
  if (answer.type === "opaqueredirect") location.assign("/sign-in");
  const json = (answer.headers.get("Content-Type") ?? "").startsWith("application/json") ? await answer.json() : {};
  if (!answer.ok) throw new Refused(json.text ?? "");
  return json.publicKey ?? json;
}

// attempt does something for a button, which cannot be pressed meanwhile, and says beside
// it when that fails. That a person changed their mind is said too: nothing was done.
async function attempt(button, act) {
  const problem = (button.closest("form") ?? document).querySelector("[data-passkey-problem]");
  if (problem) problem.textContent = "";
  button.disabled = true;
  try {
    await act();
  } catch (err) {
    if (problem) problem.textContent = (err instanceof Refused && err.message) || problem.dataset.passkeyProblem;
  } finally {
    button.disabled = false;
  }
}

// prove has the passkey sign what stands in the form of the button, and sends the form as
// its first submit button would.
async function prove(button) {
  const form = button.form;
  if (!form.reportValidity()) return;
  const submitter = [...form.elements].find((e) => e.type === "submit");
  const fields = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (typeof value === "string" && !name.startsWith("proof_")) fields.append(name, value);
  }
  if (submitter?.name) fields.append(submitter.name, submitter.value);
  const path = submitter?.getAttribute("formaction") ?? submitter?.getAttribute("hx-post") ?? form.getAttribute("hx-post") ?? form.getAttribute("action");
  const target = new URL(path ?? "", location.href);
  fields.append("proof_target", target.pathname + target.search);
  const asked = requestOptions(await options("/proof/challenge", fields));
  const credential = await navigator.credentials.get({ publicKey: asked });
  form.querySelector('[name="proof_passkey"]').value = answerOf(credential);
  form.requestSubmit(submitter);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-passkey-proof]");
  if (button && known) attempt(button, () => prove(button));
});

// A page that a browser shows again must not send an old answer.
window.addEventListener("pageshow", () => {
  for (const field of document.querySelectorAll('[name="proof_passkey"]')) field.value = "";
});

// Signing in: the browser offers passkeys where the name is typed, and at the button.
const entrance = known ? document.querySelector("form[data-passkey-entrance]") : null;
let offered = null; // what ends the offer, as a browser asks for one thing at a time

async function enter(mediation) {
  offered?.abort();
  offered = new AbortController();
  const { signal } = offered;
  const asked = requestOptions(await options("/sign-in/passkey/challenge", new URLSearchParams(), signal));
  const credential = await navigator.credentials.get({ publicKey: asked, mediation, signal });
  entrance.querySelector('[name="answer"]').value = answerOf(credential);
  entrance.submit();
}

// offer lasts as long as the page, while what is asked for is renewed before it expires.
async function offer() {
  if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
  const renewed = setInterval(() => enter("conditional").catch(() => {}), 240000);
  entrance.querySelector("button").addEventListener("click", () => clearInterval(renewed));
  enter("conditional").catch(() => {});
}

if (entrance) {
  const button = entrance.querySelector("button");
  button.addEventListener("click", () => attempt(button, () => enter("optional")));
  offer();
}

// Adding one: the server first wants to know who asks, then keeps what was made.
const addition = document.querySelector("form[data-passkey-add]");
addition?.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!known) return;
  attempt(event.submitter ?? addition.querySelector('button:not([type="button"])'), async () => {
    const fields = new URLSearchParams(new FormData(addition));
    for (const field of addition.querySelectorAll('[name="proof_passkey"]')) field.value = ""; // it counts once
    const asked = creationOptions(await options(addition.getAttribute("action"), fields));
    const credential = await navigator.credentials.create({ publicKey: asked });
    const done = document.querySelector("form[data-passkey-made]");
    done.querySelector('[name="name"]').value = addition.querySelector('[name="name"]').value;
    done.querySelector('[name="answer"]').value = answerOf(credential);
    done.submit();
  });
});
