const root = document.documentElement;
const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
document.getElementById("theme").onclick = () => { root.dataset.theme = dark() ? "light" : "dark"; };
document.getElementById("words").onclick = () => document.querySelector(".listing").classList.toggle("with-words");
